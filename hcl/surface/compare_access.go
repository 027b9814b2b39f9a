package surface

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/hcl/diag"
)

// everyone is the caller of an Access that stands for all that are not named; identified stands for those of them
// with a subject, where that makes a difference.
const (
	everyone   = "*"
	identified = "identified"
)

// The answers of an Access, from the one that lets in the fewest.
var answers = []string{"no", "depends", "approval", "yes"}

// checkAccess reports what is no answer.
func checkAccess(access map[string]map[string]string) error {
	for _, tool := range diag.SortedNames(access) {
		for _, answer := range access[tool] {
			if !slices.Contains(answers, answer) {
				const text = "it is not a lock of hatchel: the tool %q has the answer %q instead of %s"
				return &LockError{Text: fmt.Sprintf(text, tool, answer, strings.Join(answers, ", "))}
			}
		}
	}
	return nil
}

// accessChange is how the answer to a caller changed.
type accessChange struct{ caller, was, is string }

// access reports who gains or loses which tool. What everyone gains or loses is not repeated for each caller. A tool
// that was removed is reported as such.
func (c *comparison) access(renamed map[string]string) {
	if c.old.Access == nil || c.new.Access == nil {
		return
	}
	before := map[string]map[string]string{}
	for name, callers := range c.old.Access {
		if to := renamed[name]; to != "" {
			name = to
		}
		before[name] = callers
	}
	tools := map[accessChange][]string{}
	for _, name := range diag.SortedNames(c.new.Access) {
		old, new := before[name], c.new.Access[name]
		for _, caller := range diag.SortedNames(union(old, new)) {
			change := accessChange{caller, answerTo(old, caller), answerTo(new, caller)}
			repeats := func(of string) bool {
				same := change.was == answerTo(old, of) && change.is == answerTo(new, of)
				return caller != everyone && caller != of && same
			}
			known := change.was != "" && change.is != ""
			if change.was != change.is && known && !repeats(everyone) && !repeats(identified) {
				tools[change] = append(tools[change], name)
			}
		}
	}
	c.object = "callers"
	for change, names := range tools {
		place := change.caller
		switch place {
		case everyone:
			place = "everyone"
		case identified:
			place = "everyone with an identity"
		}
		if slices.Index(answers, change.is) > slices.Index(answers, change.was) {
			c.add(Widening, "access", place, "%s", change.text(names))
		} else {
			c.restrict("access", place, "%s", change.text(names))
		}
	}
}

// answerTo returns the answer to a caller: that to everyone for one who is not named, and nothing for several groups,
// of which nothing is known then.
func answerTo(callers map[string]string, caller string) string {
	answer, named := callers[caller]
	switch {
	case named:
		return answer
	case callers == nil:
		return answers[0]
	case strings.HasPrefix(caller, "groups "):
		return ""
	}
	if answer, named := callers[identified]; named && caller != everyone {
		return answer
	}
	return callers[everyone]
}

// maxNames is how many tools one change names.
const maxNames = 5

func (change accessChange) text(tools []string) string {
	list := strings.Join(tools[:min(len(tools), maxNames)], ", ")
	if more := len(tools) - maxNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case change.is == "no":
		return "loses " + list
	case change.was == "no" && change.is == "yes":
		return "gains " + list
	case change.was == "no" && change.is == "depends":
		return "gains " + list + ", depending on the input"
	case change.was == "no":
		return "gains " + list + ", with approval"
	}
	return fmt.Sprintf("%s: %s → %s", list, change.was, change.is)
}
