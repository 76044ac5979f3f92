/* Rows of tensors. */

#include "engine/model/tensor.h"

size_t
sundog_tensor_row_bytes(const SundogTensor *tensor)
{
    return (size_t)(tensor->n_bytes / tensor->n_rows);
}

const uint8_t *
sundog_tensor_get_rows(const SundogTensor *tensor, uint64_t first_row, uint64_t n_rows,
                       uint8_t *scratch)
{
    if (tensor->data != NULL)
        return tensor->data + first_row * sundog_tensor_row_bytes(tensor);
    tensor->reader->read(tensor->reader, first_row * tensor->reader_rows,
                         n_rows * tensor->reader_rows, scratch);
    return scratch;
}
