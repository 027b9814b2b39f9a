package runtime

// memory is what a process remembers between calls, for as long as it runs. It outlives generations.
type memory struct {
	meters  *meters
	answers *answers
	waits   *waits
}

func newMemory() *memory { return &memory{newMeters(), newAnswers(), newWaits()} }
