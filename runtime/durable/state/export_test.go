package state

// HoldCheckpoint leaves what is in the WAL there until the next change, and waits for a checkpoint that has begun. A file
// that is overwritten while SQLite copies the WAL to it would be a mixture, whoever uses it.
func (s *SQLite) HoldCheckpoint() {
	s.checkpoint.Stop()
	_ = s.file.MayWrite()
	s.checkpoint.Stop() // the checkpoint that has begun may have started it again
}
