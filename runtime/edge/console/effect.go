package console

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"hatchel/adapters"
)

// effectView is one effect of a call, as a page shows it.
type effectView struct {
	adapters.Effect
	Diff []diffLine // of the file that is replaced; nil for none
}

// diffLine is one line of a difference. Mark is a space, + or -.
type diffLine struct{ Mark, Text string }

// Class returns what the line is, for its colour.
func (l diffLine) Class() string {
	return map[string]string{"+": "added", "-": "removed", "@": "place"}[l.Mark]
}

func viewEffects(effects []adapters.Effect) (views []effectView) {
	for _, e := range effects {
		v := effectView{Effect: e}
		if e.Before != nil && e.After != nil {
			v.Diff = diffLines(*e.Before, *e.After)
		}
		views = append(views, v)
	}
	return views
}

// diffLines returns the lines of a unified difference without its header; nil for equal texts.
func diffLines(before, after string) (lines []diffLine) {
	text := string(diff.Diff("before", []byte(before), "after", []byte(after)))
	at := strings.Index(text, "\n@@")
	if at < 0 {
		return nil
	}
	for line := range strings.Lines(text[at+1:]) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, diffLine{line[:1], line[min(1, len(line)):]})
	}
	return lines
}
