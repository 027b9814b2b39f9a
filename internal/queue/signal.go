package queue

// Signal wakes the goroutine that receives from it. Signals that come before it does so are one. Make one with
// NewSignal.
type Signal chan struct{}

// NewSignal returns a Signal that was not sent.
func NewSignal() Signal { return make(Signal, 1) }

// Send sends the signal. It never waits.
func (s Signal) Send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
