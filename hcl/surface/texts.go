package surface

import (
	"slices"
	"strings"

	"hatchel/internal/printable"
)

// revealHidden returns a text in one line, with the characters that are not visible as their code points.
func revealHidden(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(printable.Reveal(text, "\n\t"))
}

// contextWords is how many unchanged words a word diff shows before and after a change.
const contextWords = 4

// maxWords is the maximum number of words whose longest common part is searched.
const maxWords = 2000

// wordDiff returns how a text changed: removed words as [-…-], added ones as {+…+}, and some of those
// around them.
func wordDiff(old, new string) string {
	a, b := strings.Fields(revealHidden(old)), strings.Fields(revealHidden(new))
	switch {
	case old == "":
		return "{+" + strings.Join(b, " ") + "+}"
	case new == "":
		return "[-" + strings.Join(a, " ") + "-]"
	case slices.Equal(a, b):
		return "only white space changed"
	}
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out []string
	if from := max(0, start-contextWords); start > 0 {
		if from > 0 {
			out = append(out, "…")
		}
		out = append(out, a[from:start]...)
	}
	out = append(out, middle(a[start:len(a)-end], b[start:len(b)-end])...)
	if rest := a[len(a)-end:]; len(rest) > contextWords {
		out = append(append(out, rest[:contextWords]...), "…")
	} else {
		out = append(out, rest...)
	}
	return strings.Join(out, " ")
}

// middle returns the difference of two lists of words that begin and end differently.
func middle(a, b []string) (out []string) {
	if len(a)*len(b) > maxWords*maxWords/4 {
		return marked(a, b)
	}
	// common[i][j] is the length of the longest common part of a[i:] and b[j:]
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j, fromA, fromB := 0, 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out = append(append(out, marked(a[fromA:i], b[fromB:j])...), a[i])
			i, j = i+1, j+1
			fromA, fromB = i, j
		case common[i+1][j] >= common[i][j+1]:
			i++
		default:
			j++
		}
	}
	return append(out, marked(a[fromA:], b[fromB:])...)
}

func marked(removed, added []string) (out []string) {
	if len(removed) > 0 {
		out = append(out, "[-"+strings.Join(removed, " ")+"-]")
	}
	if len(added) > 0 {
		out = append(out, "{+"+strings.Join(added, " ")+"+}")
	}
	return out
}
