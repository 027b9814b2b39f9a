package client

// Len returns how many documents and failures are kept.
func (s *Documents) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}
