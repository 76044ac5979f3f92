#pragma once

/*
 * Readers of rows that stand elsewhere or differ by little: joined tensors, parts of one, values that
 * are computed from others. What they need is owned by the source. Within this house.
 */

#include "engine/model/source.h"

/* Rows of all matrices of a tensor, counted through, wherever it has them. */
void sundog_rows_copy(const SundogSourceTensor *tensor, uint64_t first_row, uint64_t n_rows,
                      uint8_t *rows);
/* Tensors of one type and shape one after the other; `parts` is copied. The result has one dimension
 * more, of their number, at the end. */
void sundog_rows_join(SundogSource *source, const SundogSourceTensor *parts, size_t n_parts,
                      SundogSourceTensor *joined);
/* Matrices of one type and width one under the other; `parts` is copied. */
void sundog_rows_append(SundogSource *source, const SundogSourceTensor *parts, size_t n_parts,
                        SundogSourceTensor *appended);
/* Rows [first_row, first_row + n_rows) of a matrix, or of each of a stack. */
void sundog_rows_slice(SundogSource *source, const SundogSourceTensor *whole, uint64_t first_row,
                       uint64_t n_rows, SundogSourceTensor *slice);
/* Every second row, from `first` (0 or 1) on, of matrices with an even number of rows. */
void sundog_rows_every_second(SundogSource *source, const SundogSourceTensor *whole, uint64_t first,
                              SundogSourceTensor *half);
/* The same of the values of each row, of a tensor of plain floats. */
void sundog_rows_every_second_value(SundogSource *source, const SundogSourceTensor *whole,
                                    uint64_t first, SundogSourceTensor *half);
/* Each matrix of a stack of plain floats with its rows as columns. */
void sundog_rows_transpose(SundogSource *source, const SundogSourceTensor *whole,
                           SundogSourceTensor *transposed);
/* Rows of F8 as F32. */
void sundog_rows_widen_f8(SundogSource *source, const SundogSourceTensor *f8,
                          SundogSourceTensor *wide);
/* A function of each value in float32, of a tensor of plain floats. */
void sundog_rows_map(SundogSource *source, const SundogSourceTensor *plain,
                     float (*function)(float), SundogSourceTensor *mapped);
/* Each row of plain floats times its factor, [rows] of all matrices, which the source owns. */
void sundog_rows_scale(SundogSource *source, const SundogSourceTensor *plain, const float *factors,
                       SundogSourceTensor *scaled);
