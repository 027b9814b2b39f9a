package state

// HoldCheckpoint leaves what is in the WAL there until the next change. A file that is overwritten while SQLite copies
// the WAL to it would be a mixture, whoever uses it.
func (s *SQLite) HoldCheckpoint() {
	s.checkpoint.Stop()
	_ = s.file.MayWrite() // after a checkpoint that has begun
}
