package runtime

// processCaches is what a process remembers between calls, for as long as it runs. It outlives generations.
type processCaches struct {
	limiter *limiter
	results *resultCache
	waiters *waiters
}

func newProcessCaches() *processCaches {
	return &processCaches{newLimiter(), newResultCache(), newWaiters()}
}
