package call

// MayWait reports whether a call may wait for a backend, people, a limit or the state store. Any other call computes
// its result at once.
func (p *Program) MayWait() bool {
	return len(p.Steps)+len(p.Approvals)+len(p.limits) > 0 || p.takesFiles || p.tool.Idempotency != nil
}
