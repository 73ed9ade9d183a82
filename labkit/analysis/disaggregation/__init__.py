"""A planning model: would separate prefill and decode pools keep both SLOs at a higher rate?

It plans from what one engine was measured to do and is no measurement itself; `check` holds it
against what the engine did when it did both. The question, and prefill as a queue of its own, are
those of DistServe (Zhong et al., OSDI 2024). It must not know engines, nor how a plan is told.
"""
