package recent

// SizeOf returns how many bytes the latest call takes.
func SizeOf(l *Log) int { return len(l.places[l.next.Load()%Kept].record) }
