"""Every metric, defined once. All stamps come from one monotonic clock, read at the socket.

ttft_s          first non-empty text, reasoning or tool delta - send.
tpot_s          (last token - first token) / (completion tokens - tokens in the first chunk), one
                number a request. The first chunk counts as one token unless `chunk_tokens` tells.
                None for a request whose text came in one chunk: it has no gap to measure.
itl_s           the gaps between chunks, all requests pooled. A chunk may hold several tokens.
e2e_latency_s   last token - send.
ttft_intended_s, e2e_latency_intended_s     the same from the moment that the schedule meant the
                request to be sent, so the wait for a slot and the client's own lag are in them.
                Open loop and trace only: a closed loop and a static batch have no such moment.
slot_wait_s     released - intended: the wait for one of max_concurrency slots. Open loop and trace.
send_lag_s      sent - released: what the client itself took, over all requests that were sent.
task_latency_s  first send - last token of a task, over tasks whose every step is ok.
duration_s      first request sent - last request finished, failed requests included.
request_throughput_per_s            ok requests / duration_s.
output_throughput_tokens_per_s      completion tokens of ok requests / duration_s.
total_throughput_tokens_per_s       prompt and completion tokens of ok requests / duration_s.
steady_output_throughput_tokens_per_s   completion tokens of ok requests that came inside the
                steady window / its length; each chunk counts at its own stamp, with an equal share
                of its request's tokens unless `chunk_tokens` tells. None where the window is under
                a tenth of duration_s.
steady_window_s how long the load was full. Closed loop and static batch: from the moment at which
                max_concurrency requests are in flight to the first slot left idle for good, told
                only if 90 % of the slots were in use on average. Open loop and trace: from the
                first to the last intended time.
latency_drift   the median end-to-end latency (from the intended time, if there is one) of the first
                and the second half of the requests begun in the steady window, in the order sent,
                with the two-sided p_value of Spearman's rank correlation of latency and order. Of a
                task only the first step counts. None below 20 requests.
offered_rate_per_s      (requests - 1) / (last - first intended time). Open loop and trace.
achieved_rate_per_s     (requests sent - 1) / (last - first send). Open loop and trace.
released_span_s, sent_span_s    first to last release, and first to last send. Open loop and trace.
goodput_per_s   ok requests that meet every limit of the SLO / duration_s. A failed request is a
                miss, and so is one without a first token. Without a gap, the tpot limit is met. In
                open loop and trace TTFT and end-to-end latency count from the intended time.
slo_attainment  requests that meet every limit of the SLO / all requests.
json_share      answers that are one JSON value / ok requests that had to be JSON.
slo_misses      requests that miss the SLO, by the limit that they miss (one may miss several), and
                those that failed, as error.
num_tasks, num_tasks_slo_met    tasks, and those of which every call is ok and meets the SLO.
num_dropped     requests that were never sent, such as the steps of a task after one that failed.
kv_cache_usage  share of the KV cache in use, 0..1, as the engine reports it.
num_requests_running    requests that have a place in the engine, in prefill or in decode.
num_requests_waiting    requests that the engine has accepted and given no place yet. llama.cpp
                tells both as they were when its present step began: a request that came during a
                long prefill is in neither until that step ends.
queue_growth_per_s      how fast num_requests_waiting grew until the last send: the median slope of
                all pairs of samples (Theil and Sen), in requests a second, with the two-sided
                p_value of Spearman's rank correlation with time. None below 8 samples.
kv_cache_capacity_tokens, kv_cache_capacity_bytes   how much the KV cache of the engine holds, as it
                tells last during the load.
kv_cache_bytes_per_token    what one token takes in the KV cache, from the model's own layers, KV
                heads, head size and number type (MLA: its latent), all layers counted.
kv_memory       capacity_bytes as the engine tells it, else capacity_tokens * bytes a token;
                used_bytes = usage * capacity; reserved_bytes: what the most requests at once
                would take with max_model_len reserved for each; saved_share = 1 - used at most /
                reserved; fitting_requests = capacity / (mean prompt + completion tokens); limit:
                max_num_seqs where that is at most fitting_requests, else kv_cache.
engine_ttft_s, engine_queue_time_s, engine_prefill_time_s, engine_decode_time_s     means of what
                the engine timed by its own clock, with their count: from a request's arrival to its
                first token; its wait for a place; from its place to the first token; from the first
                to the last token. The increase of the sum of the engine's histogram over the load /
                the increase of its count, so a failed request that the engine timed is in them.
client_ttft_overhead_s  mean ttft_s - mean engine_ttft_s: what lies between the two clocks, which is
                the network, HTTP, what the server does before it counts a request as arrived and
                after its first token, and the client itself. None where the counts of the two are
                more than 5 % apart: the means would not be of the same requests.
phases          means over ok requests: queue_time_s, prefill_time_s, decode_time_s (first to last
                token), with their source. "engine requests": prefill as the engine told it with
                each answer, queue = TTFT - prefill. "engine histograms": the two times above.
                "client": queue and prefill can't be told apart, and prefill_time_s is the TTFT.
                prompt_tokens_per_s: prompt tokens that no cache held / time in prefill.
prefill_stall_s the gaps between chunks of running streams into which the prefill of another request
                fell, as far as its time is told, else its first token: max, p95, n; median_gap_s of
                the gaps without; share: what they took longer than that / all gaps.
step_time       the median gap of streams without a prefill in it, by the number of streams between
                first and last token (bins), and t = a_s + b_s * n fitted through the bins, weighted
                by steps, with 95 % intervals from the residuals. max_gain = (a + b) / b; at
                half_gain_at = a / b streams half of 1 / b tokens/s is had. Only where each chunk
                holds a token.
stepped_down    settings that ran lower than asked, as the engine ran out of memory. The point is
                SUSPECT, and INVALID where the swept setting itself was lowered.
error_kind      what ended a point, as its engine's log tells it.
gpu_energy_j    joules of all sampled GPUs over the load: the growth of the driver's counter, else
                the integral of the sampled power. None where samples are missing or more than 3
                periods apart. What failed requests and idle moments took is in it.
energy_per_output_token_j, energy_per_good_token_j      gpu_energy_j / completion tokens of ok
                requests, and of those that meet the SLO (without one: of all ok requests).
price_per_million_good_tokens   cost.price_per_hour * duration_s / 3600 / good tokens * 1e6.
gpu_state       throttle_reasons: share of samples in which NVML named a limit on the clocks;
                ecc_errors: uncorrected memory errors that came; foreign_processes: others than the
                engine's on the GPU, SUSPECT above 1 GiB, None where they can't be told apart.
sampling_*      per source: how far samples were off their period (jitter), gaps of over 3 periods,
                and cores: CPU time of its thread / the time it sampled, warm-up included.
num_preemptions times the engine pushed a running request back, over the load.
prefix_cache_hit_rate   prompt tokens served from cache / prompt tokens looked up, over the load.
gpu_*, host_*, engine_memory_bytes, client_memory_bytes     samples of NVML and the operating
                system; gpu_utilization and host_cpu_utilization as a share 0..1.
engine_cpu_utilization, client_cpu_utilization  cores that they used.
host_cores      the cores that host_cpu_utilization is a share of.
foreign_cpu_cores       cores that neither engine nor client used: host_cpu_utilization * host_cores
                - engine - client, means over the load. None where the engine is not on this host.
client_cpu_s    CPU time of all workers of the load client, over the load.
client_busiest_cores    CPU time of the busiest worker / time of the load.
client_stall_s  how late a 20 ms tick of the client's event loops came: max, p99 and n.
client_load     requests sent and chunks read a second over duration_s, each also as a share of what
                a self-test of the client reached on this machine, worker by worker.

Latencies are linear-interpolated percentiles over ok requests with n beside them. Gauges are
time-weighted means and maxima of the samples inside the load. What was not measured is None with
a reason, never 0. Nothing else stands in this module: a report shows this text.
"""
