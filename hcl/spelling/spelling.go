// Package spelling finds the existing name nearest to an unknown one, for the mistakes of authors
// and of callers.
package spelling

import "strings"

// Nearest returns the name that was most likely meant by an unknown name, or "" if none is near. It
// ignores case and the separators '_' and '-'. Of equally near names it returns the first.
func Nearest(name string, among []string) string {
	best, nearest := "", 0
	folded := fold(name)
	for _, candidate := range among {
		if candidate == name {
			continue
		}
		other := fold(candidate)
		if len(folded) > 4*len(other)+16 { // no use, and takes time
			continue
		}
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

// begun returns the only name that starts with the given text, as description starts with desc.
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

// distance returns the number of insertions, deletions, substitutions and transpositions between
// two names.
func distance(a, b string) int {
	const maxLength = 100
	if len(a) > maxLength || len(b) > maxLength {
		return maxLength
	}
	var rows [3][maxLength + 1]int
	before, last, row := rows[0][:len(b)+1], rows[1][:len(b)+1], rows[2][:len(b)+1]
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
