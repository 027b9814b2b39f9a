// Package spelling turns a name that does not exist into the one that was meant: Nearest is its one
// entry point, for authors' mistakes and for callers' alike, so that both are offered the same
// names.
package spelling

import "strings"

// Nearest returns the name among those given that an author or a caller most likely meant by name,
// or "" when none is near. Case, and whether words are joined by '_', '-' or nothing, do not count;
// of equally near names the first wins.
func Nearest(name string, among []string) string {
	best, nearest := "", 0
	folded := fold(name)
	for _, candidate := range among {
		if candidate == name {
			continue
		}
		other := fold(candidate)
		d := distance(folded, other)
		if limit := max(1, max(len(folded), len(other))/3); d > min(limit, 3) || d >= min(len(folded), len(other)) {
			continue
		}
		if best == "" || d < nearest {
			best, nearest = candidate, d
		}
	}
	if best == "" && len(folded) >= 3 {
		return begun(folded, among)
	}
	return best
}

// begun is the only name that begins like this, as description begins with desc.
func begun(folded string, among []string) (name string) {
	for _, candidate := range among {
		if !strings.HasPrefix(fold(candidate), folded) {
			continue
		}
		if name != "" {
			return ""
		}
		name = candidate
	}
	return name
}

var joiners = strings.NewReplacer("_", "", "-", "", ".", "")

func fold(name string) string { return joiners.Replace(strings.ToLower(name)) }

// distance counts insertions, deletions, substitutions and swaps of neighbours between two names.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
