package surface

import (
	"cmp"
	"slices"
	"strings"

	"hatchel/hcl/eval"
	"hatchel/internal/lazyregexp"
)

// boundDefaults are the bounds that apply without the argument. A bound that is not here is none then.
var boundDefaults = map[string]string{
	"max_rows": "1000", "max_body": `"4MiB"`, "max_output": `"1MiB"`, "max_pages": "10", "max_size": `"4MiB"`,
	"attempts": "3", "redirects": "5", "open_files": "1024", "file_size": `"1GiB"`, "processes": "64",
}

// unlimitedBounds are the bounds of which there is none without the argument.
var unlimitedBounds = []string{"memory", "cpu", "cpu_share", "concurrency", "rate"}

// isLowerBound reports whether an argument of bounds permits no more than before. An absent one is its default.
func isLowerBound(name, old, new string) bool {
	if old == "" && slices.Contains(unlimitedBounds, name) {
		_, known := measure(new)
		return known
	}
	return isLower(cmp.Or(old, boundDefaults[name]), cmp.Or(new, boundDefaults[name]))
}

// without returns what an argument has without the argument: in a step that of its connection, which is not a default.
func (s *stepsComparison) without(on *Surface, step *Step, path, form string) string {
	conn := on.Connections[step.Connection]
	if form == "" && conn != nil && path == lastName(path) {
		return conn.Args[path]
	}
	return form
}

// retriesLess reports whether the arguments of a block send a request again in no more cases than before. They are
// those of a retry block, or none. Inherited says that without the block that of the connection applies.
func retriesLess(old, new map[string]string, inherited bool) bool {
	before, was := retryOf(old)
	after, is := retryOf(new)
	switch {
	case !is:
		return !inherited
	case !was:
		return false
	}
	if !isLowerBound("attempts", before["attempts"], after["attempts"]) {
		return false
	}
	return before["on"] == after["on"] ||
		isShorterList(cmp.Or(before["on"], someRetries), cmp.Or(after["on"], allRetries))
}

// Without on, a request is sent again after all of these, or after some of them if it is not safe to repeat.
const (
	allRetries  = `["429", "502", "503", "504", "network"]`
	someRetries = `["429", "503", "network"]`
)

// retryOf returns the arguments of a retry block, and whether there is one.
func retryOf(args map[string]string) (own map[string]string, exists bool) {
	own = map[string]string{}
	for path, form := range args {
		if name, in := strings.CutPrefix(path, "retry."); in {
			own[name], exists = form, true
		}
	}
	_, empty := args["retry"]
	return own, exists || empty
}

// isShorterList reports whether a list of constants has only elements of another one.
func isShorterList(old, new string) bool {
	before, ok := constantValues(old)
	after, also := constantValues(new)
	isList := strings.HasPrefix(old, "[") && strings.HasPrefix(new, "[")
	return ok && also && isList && len(missing(after, before)) == 0
}

// hook is the parts of the line of a hook.
type hook struct {
	event         string
	notify, tools []string
	when          *eval.Formula
	perDay        float64
}

// hookLine matches the line of a hook: its event, what is sent where and when, and its limit.
var hookLine = lazyregexp.New(`^SEND (\S+) to (.+), (\d+) a (second|minute|hour|day)$`)

// perDay is how many of a period of hookLine a day has.
var perDay = map[string]float64{"second": 86400, "minute": 1440, "hour": 24, "day": 1}

func parseHook(line string) (h hook, ok bool) {
	m := hookLine.FindStringSubmatch(line)
	if m == nil {
		return h, false
	}
	n, _ := measure(m[3])
	h.event, h.perDay = m[1], n*perDay[m[4]]
	rest := m[2]
	if h.notify, rest, ok = cutNames(rest); !ok {
		return h, false
	}
	if h.tools, rest, ok = cutNamed(rest, " of"); !ok {
		return h, false
	}
	when, has := strings.CutPrefix(rest, " when ")
	if has {
		h.when = parseCondition(when)
	}
	return h, has || rest == ""
}

// sendsLess reports whether a hook sends only events that another one sends, to none but its webhooks.
func sendsLess(old, new string) bool {
	a, ok := parseHook(old)
	b, also := parseHook(new)
	return ok && also && a.event == b.event && len(missing(b.notify, a.notify)) == 0 &&
		(a.tools == nil || b.tools != nil && len(missing(b.tools, a.tools)) == 0) &&
		implies(b.when, a.when) && b.perDay <= a.perDay
}

// keyLine is the parts of the line of an API key.
type keyLine struct {
	name           string
	groups, scopes []string
	until, proof   string
}

// keyEnd matches the end and the proof of an API key.
var keyEnd = lazyregexp.New(`^(?: until (\S+))? (sha256 [0-9a-f]+|\S+)$`)

func parseKey(line string) (k keyLine, ok bool) {
	rest, ok := strings.CutPrefix(line, "key ")
	if !ok {
		return k, false
	}
	n := max(strings.IndexByte(rest, ' '), 0)
	k.name, rest = rest[:n], rest[n:]
	if k.groups, rest, ok = cutNamed(rest, " groups"); !ok {
		return k, false
	}
	if k.scopes, rest, ok = cutNamed(rest, " scopes"); !ok {
		return k, false
	}
	m := keyEnd.FindStringSubmatch(rest)
	if m == nil {
		return k, false
	}
	k.until, k.proof = m[1], m[2]
	return k, true
}

// isNarrowerKey reports whether the line of an API key gives a caller who has it no more than another one did. Fewer
// groups and scopes give less unless a rule refuses those who have them.
func (c *comparison) isNarrowerKey(old, new string) bool {
	a, ok := parseKey(old)
	b, also := parseKey(new)
	if !ok || !also || a.name != b.name || a.proof != b.proof ||
		a.until != "" && (b.until == "" || b.until > a.until) || // both are in UTC
		len(missing(b.groups, a.groups)) > 0 || len(missing(b.scopes, a.scopes)) > 0 {
		return false
	}
	for _, name := range missing(a.groups, b.groups) {
		if !c.new.onlyGrants("caller.groups", name) {
			return false
		}
	}
	for _, name := range missing(a.scopes, b.scopes) {
		if !c.new.onlyGrants("caller.scopes", name) {
			return false
		}
	}
	return true
}

// onlyGrants reports whether callers who have a name in a list of theirs, such as a group, may do everything that those
// without it may: each rule that reads the list lets them in, and nothing but rules reads it.
func (s *Surface) onlyGrants(list, name string) bool {
	grants := true
	var walk func(f *eval.Formula, letsIn bool)
	walk = func(f *eval.Formula, letsIn bool) {
		switch {
		case f == nil:
		case f.Op == eval.OpNot:
			walk(f.Parts[0], !letsIn)
		case f.Op != "":
			for _, part := range f.Parts {
				walk(part, letsIn)
			}
		case readsList(f.Text, list) && !(letsIn && isMembership(f.Text, list)) &&
			!isMembershipOfOther(f.Text, list, name):
			grants = false
		}
	}
	either := func(f *eval.Formula) { walk(f, true); walk(f, false) }
	for _, p := range s.Policies {
		walk(p.Allow, true)
		walk(p.Deny, false)
		walk(p.Approve, false)
	}
	walk(s.Server.Approvers, true)
	operation := func(op *Operation) {
		walk(op.May.Allow, true)
		for _, check := range op.May.Checks {
			walk(check, true)
		}
		for _, a := range op.May.Approval {
			walk(a.When, false)
		}
		for _, step := range op.Steps {
			either(step.When)
			either(step.Until)
			for _, e := range step.Expect {
				either(e)
			}
		}
		for _, guard := range op.Guards {
			grants = grants && !readsList(guard, list)
		}
	}
	for _, t := range s.Tools {
		operation(&t.Operation)
	}
	for _, p := range s.Prompts {
		operation(&p.Operation)
	}
	for _, r := range s.Resources {
		operation(&r.Operation)
	}
	for _, k := range s.Skills {
		operation(&k.Operation)
	}
	for _, block := range s.Settings {
		for path, form := range block.Args {
			if slices.Contains(rulesOfSettings, lastName(path)) {
				walk(parseCondition(form), true)
			}
		}
	}
	return grants
}

// rulesOfSettings are the arguments of other blocks that let callers in.
var rulesOfSettings = []string{"allow", "trust"}

// readsList reports whether an atom or a guard reads a list of the caller, or the whole caller.
func readsList(text, list string) bool {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "caller")
		if !found {
			return false
		}
		member, _ := strings.CutPrefix(list, "caller")
		if !strings.HasPrefix(after, ".") || strings.HasPrefix(after, member) {
			return true
		}
		rest = after
	}
}

// isMembership reports whether an atom is true for callers with one name in the list.
func isMembership(text, list string) bool {
	words := atomWords(text)
	return len(words) == 3 && words[1] == "in" && words[2] == list && isConstant(words[0])
}

// isMembershipOfOther reports whether an atom asks for another name in the list.
func isMembershipOfOther(text, list, name string) bool {
	if !isMembership(text, list) {
		return false
	}
	values, ok := constantValues(atomWords(text)[0])
	return ok && !slices.Contains(values, "'"+name+"'")
}

// defaultAlgorithms are those of a jwt block without algorithms.
const defaultAlgorithms = `["RS256", "ES256", "EdDSA"]`

// isNarrowerIssuer reports whether the line of an issuer accepts only tokens that another one accepts.
func isNarrowerIssuer(old, new string) bool {
	a, ok := issuerArguments(old)
	b, also := issuerArguments(new)
	if !ok || !also {
		return false
	}
	for _, name := range changedArguments(a, b) {
		narrower := false
		switch name {
		case "algorithms":
			narrower = isShorterList(cmp.Or(a[name], defaultAlgorithms), cmp.Or(b[name], defaultAlgorithms))
		case "required_scopes":
			narrower = b[name] != "" && isShorterList(b[name], cmp.Or(a[name], "[]"))
		case "clock_skew":
			narrower = isLower(cmp.Or(a[name], `"60s"`), cmp.Or(b[name], `"60s"`))
		}
		if !narrower {
			return false
		}
	}
	return true
}

// issuerArguments returns the arguments in the line of an issuer.
func issuerArguments(line string) (args map[string]string, ok bool) {
	words := atomWords(line)
	if len(words)%2 != 0 || words[0] != "issuer" {
		return nil, false
	}
	args = map[string]string{}
	for i := 0; i < len(words); i += 2 {
		if args[words[i]] != "" {
			return nil, false
		}
		args[words[i]] = words[i+1]
	}
	return args, true
}

// servedBlocks are the blocks that serve something to callers or to people. Without the block there is no such path.
var servedBlocks = []string{"console", "events", "files", "telemetry.metrics", "server.health", "server.card",
	"server.well_known"}

// longerIsLess are arguments of which a higher value does less or keeps more, by the blocks that have them.
var longerIsLess = map[string]string{"idempotency.ttl": `"24h"`, "audit.max_files": "", "audit.rotate": `"100MiB"`}

// shorterIsLess are times, counts and sizes of other blocks of which a lower value gives less, with their defaults.
var shorterIsLess = map[string]string{
	"approval.timeout": `"5m"`, "console.session": `"8h"`, "files.max_size": `"32MiB"`, "files.ttl": `"24h"`,
	"secret.ttl": `"10m"`, "webhook.retention": `"24h"`, "telemetry.metrics.callers": "0",
	"telemetry.otlp.traces": "1", "telemetry.otlp.burst": "200", "server.page_size": "1000",
}

// isHarmlessNumber reports whether an argument of a block is one of those numbers, and gives no more than before.
func isHarmlessNumber(at, old, new string) bool {
	at = repeated.ReplaceAllString(at, "")
	if otherwise, known := shorterIsLess[at]; known {
		return isLower(cmp.Or(old, otherwise), cmp.Or(new, otherwise))
	}
	if otherwise, known := longerIsLess[at]; known {
		switch {
		case otherwise == "" && new == "": // without the argument all are kept
			return true
		case otherwise == "" && old == "":
			return false
		}
		return isLower(cmp.Or(new, otherwise), cmp.Or(old, otherwise))
	}
	return false
}
