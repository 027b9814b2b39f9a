package access

import (
	"context"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// Surface returns the surface of a configuration that was loaded without errors, with who may call each tool. Parallel
// is that of [surface.Of].
func Surface(cfg *hcl.Config, parallel func(n int, do func(i int))) *surface.Surface {
	s := surface.Of(cfg, parallel)
	s.Access = Answers(context.Background(), cfg)
	return s
}

// Everyone is the caller of Answers that stands for all that are not named.
const Everyone = "*"

// severalGroups begins the name of a caller in several groups.
const severalGroups = "groups "

// Answers returns who may call each tool, to be kept and compared: by tool and by caller, who is [Everyone], a group,
// the groups of an API key as in "groups board+finance", or a subject that a rule names. A group or a subject with the
// answer of Everyone is left out. All are taken to have every scope.
func Answers(ctx context.Context, cfg *hcl.Config) map[string]map[string]string {
	b := newCallerBuilder(cfg, nil)
	callers := Callers(cfg, nil)[:1]
	for _, group := range b.groups() {
		callers = append(callers, b.caller("group "+group, "", []string{group}, nil))
	}
	for _, groups := range b.groupSets() {
		callers = append(callers, b.caller(severalGroups+strings.Join(groups, "+"), "", groups, nil))
	}
	for _, subject := range b.named["caller.subject"] {
		callers = append(callers, b.caller("subject "+subject, subject, b.groupsOf(subject), nil))
	}
	all := map[string]map[string]string{}
	for _, tool := range New(ctx, cfg, callers).Tools {
		everyone := tool.Answers[callers[0].Name]
		answers := map[string]string{Everyone: string(everyone)}
		for _, c := range callers[1:] {
			if answer := tool.Answers[c.Name]; answer != everyone || strings.HasPrefix(c.Name, severalGroups) {
				answers[c.Name] = string(answer)
			}
		}
		all[tool.Name] = answers
	}
	return all
}

// groupSets returns the sets of several groups that API keys have, each sorted.
func (b *callerBuilder) groupSets() (sets [][]string) {
	for _, key := range b.keys() {
		groups := sortedSet(slices.Clone(key.Groups))
		if len(groups) > 1 {
			sets = append(sets, groups)
		}
	}
	slices.SortFunc(sets, slices.Compare)
	return slices.CompactFunc(sets, slices.Equal)
}

// groupsOf returns the groups of a subject, which are those of the key with its name.
func (b *callerBuilder) groupsOf(subject string) []string {
	if key := b.keys()[subject]; key != nil {
		return key.Groups
	}
	return nil
}
