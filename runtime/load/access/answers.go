package access

import (
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/surface"
)

// Surface returns the surface of a configuration that was loaded without errors, with who may call each tool.
// Parallel is that of [surface.Of].
func Surface(cfg *hcl.Config, parallel func(n int, do func(i int))) *surface.Surface {
	s := surface.Of(cfg, parallel)
	s.Access = answer(cfg, cfg.Tools, answerCallers(cfg, s))
	return s
}

// OfReload returns the surfaces that [surface.OfReload] returns, with who may call each tool of them.
func OfReload(served, loaded *hcl.Config, parallel func(n int, do func(i int))) (before, after *surface.Surface) {
	before, after = surface.OfReload(served, loaded, parallel)
	sides := []struct {
		*surface.Surface
		cfg     *hcl.Config
		callers []Caller
	}{{before, served, answerCallers(served, before)}, {after, loaded, answerCallers(loaded, after)}}
	same := slices.EqualFunc(sides[0].callers, sides[1].callers, func(a, b Caller) bool { return a.Name == b.Name })
	for _, s := range sides {
		tools := s.cfg.Tools
		if same { // otherwise a caller may gain tools that did not change
			tools = slices.DeleteFunc(slices.Clone(tools), func(t *hcl.Tool) bool { return s.Tools[t.Name] == nil })
		}
		s.Access = answer(s.cfg, tools, s.callers)
	}
	return before, after
}

// Everyone is the caller of Answers that stands for all that are not named.
const Everyone = "*"

// Identified is the caller of Answers that stands for all with an identity that are not named, if a caller without
// one gets another answer.
const Identified = "identified"

// severalGroups begins the name of a caller in several groups.
const severalGroups = "groups "

// answerCallers returns the callers of answer, of whom the first are Everyone and Identified. The surface is that of
// the configuration.
func answerCallers(cfg *hcl.Config, s *surface.Surface) []Caller {
	b := newCallerBuilder(cfg, nil, s, toolTargets(cfg.Tools))
	callers := []Caller{b.first(nil), b.caller(Identified, "", nil, nil)}
	for _, group := range b.groups() {
		callers = append(callers, b.caller("group "+group, "", []string{group}, nil))
	}
	for _, groups := range b.groupSets() {
		callers = append(callers, b.caller(severalGroups+surface.JoinNames(groups, "+"), "", groups, nil))
	}
	for _, subject := range b.named["caller.subject"] {
		callers = append(callers, b.caller("subject "+subject, subject, b.groupsOf(subject), nil))
	}
	return append(callers, b.candidates()...)
}

// answer returns who may call some tools, to be kept and compared: by tool and by caller, who is [Everyone],
// [Identified], a group, the groups of an API key as in "groups board+finance", or a subject that a rule tells apart.
// A group or a subject with the answer of Everyone is left out. All are taken to have every scope.
func answer(cfg *hcl.Config, tools []*hcl.Tool, callers []Caller) map[string]map[string]string {
	all := map[string]map[string]string{}
	list := rows(cfg, toolTargets(tools), callers)
	callers = withoutRepetitions(callers, list)
	for _, tool := range list {
		everyone := tool.Answers[callers[0].Name]
		answers := map[string]string{Everyone: string(everyone)}
		others := everyone // those without a name of their own
		for i, c := range callers[1:] {
			answer := tool.Answers[c.Name]
			if answer != others || strings.HasPrefix(c.Name, severalGroups) {
				answers[c.Name] = string(answer)
			}
			if i == 0 {
				others = answer
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
