#include "engine/schedule/step-runner.h"

SundogCache *
sundog_step_runner_make_cache(const SundogStepRunner *runner, int32_t max_kept_pages,
                              SundogPageRecorder *recorder)
{
    return sundog_cache_new(&(SundogCacheOptions){.n_pages = runner->pool_pages,
                                                  .page_tokens = runner->page_tokens,
                                                  .sequence_pages = runner->max.sequence_pages,
                                                  .max_kept_pages = max_kept_pages,
                                                  .n_windows = runner->window_pages,
                                                  .window_tokens = runner->window_tokens,
                                                  .step_tokens = runner->max.n_tokens,
                                                  .n_states = runner->pool_states,
                                                  .state = runner->state,
                                                  .recorder = recorder});
}
