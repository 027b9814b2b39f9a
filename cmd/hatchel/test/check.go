package test

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hatchel/cmd/hatchel/test/testblock"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/value"
	"hatchel/internal/cut"
)

// checker compares the outcome of a call with what its test expects.
type checker struct {
	*running
	suite    *Suite
	failures hcl.Diagnostics
	goldens  map[string]golden // that differ
	sent     []any
}

const maxDetailLines = 40

func (c *checker) fail(at diag.Range, summary, format string, args ...any) {
	lines := strings.Split(visible(c.mocks.Hide(fmt.Sprintf(format, args...))), "\n")
	if more := len(lines) - maxDetailLines; more > 0 {
		lines = append(lines[:maxDetailLines], fmt.Sprintf("… %d more lines", more))
	}
	c.failures = append(c.failures, &hcl.Diagnostic{Summary: summary, Detail: strings.Join(lines, "\n"), Subject: at})
}

// check compares the outcome with all expectations.
func (c *checker) check() {
	if !slices.ContainsFunc(c.Expects, (*testblock.Expect).Fails) && !c.checkSucceeded() {
		return
	}
	for _, e := range c.Expects {
		c.checkValues(e)
		if e.That != nil {
			c.checkThat(e)
		}
	}
}

// checkSucceeded reports a call that has failed, though the test does not say so.
func (c *checker) checkSucceeded() bool {
	expectsApproval := slices.ContainsFunc(c.Expects, func(e *testblock.Expect) bool {
		return e.Values["approval"] == true
	})
	switch {
	case c.out.approval && c.Approve == nil && !expectsApproval:
		c.fail(c.Range, "Approval needed", "The call needs the approval of an operator. Write answer "+
			"{ approve = true }, or approval = true in an expect block.")
	case c.out.approval && c.Approve == nil:
		return true
	case c.out.rule != "" && (c.out.failed || c.out.fault != nil):
		c.fail(c.Range, "Call denied", "%s denies the call: %s", c.out.rule, c.out.text)
	case c.out.fault != nil:
		c.fail(c.Range, "Call failed", "The call gives the protocol error %d: %s", c.out.fault.Code, c.out.text)
	case c.out.failed:
		c.fail(c.Range, "Call failed", "The call fails: %s%s", c.out.text, c.answerHint())
	default:
		return true
	}
	return false
}

// answerHint says what to write if the call failed over a question that the test does not answer.
func (c *checker) answerHint() string {
	for _, op := range operations(reduce(c.config, c.Case)) {
		for _, step := range op.Steps {
			group, _ := step.Backend.Config.(*hcl.AskGroup)
			if group == nil {
				continue
			}
			for _, ask := range group.Asks {
				if c.Answers[ask.Key] == nil && strings.Contains(c.out.text, strconv.Quote(ask.Key)) {
					return fmt.Sprintf("\nThe test has no answer to it: write answer %q { … } in the test.", ask.Key)
				}
			}
		}
	}
	return ""
}

// checkValues compares the values of one expect block.
func (c *checker) checkValues(e *testblock.Expect) {
	for _, name := range value.Keys(e.Values) {
		want, at := e.Values[name], e.Ranges[name]
		switch text, _ := want.(string); name {
		case "text":
			c.checkText(at, text, c.out.text)
		case "error":
			if c.requireFailure(at) {
				c.checkText(at, text, c.out.text)
			}
		case "text_matches":
			c.checkMatch(at, text)
		case "error_matches":
			if c.requireFailure(at) {
				c.checkMatch(at, text)
			}
		case "result":
			c.checkResult(at, want, false)
		case "contains":
			c.checkResult(at, want, true)
		case "golden":
			c.checkGolden(at, text)
		case "refused":
			c.checkRefused(at, text)
		case "denied":
			c.checkDenied(at, text)
		case "fault":
			c.checkFault(at, want)
		case "failed":
			if n, _ := value.Int(want); n != c.out.partial.Failed {
				c.fail(at, "Failures differ", "want %d, got %d%s", n, c.out.partial.Failed, c.firstFailure())
			}
		case "masked":
			c.checkMasked(at, want)
		case "approval":
			if want != c.out.approval {
				c.fail(at, "Approval differs", "want %v, got %v: %s", want, c.out.approval, c.shown())
			}
		}
	}
}

// firstFailure returns the first failure after which the call went on, after a colon; empty for none.
func (c *checker) firstFailure() string {
	if c.out.partial.Failed == 0 {
		return ""
	}
	return ": " + c.out.partial.Error
}

// checkText compares texts, but for a line break at the end, which a heredoc always has.
func (c *checker) checkText(at diag.Range, want, got string) {
	want, got = strings.TrimSuffix(want, "\n"), strings.TrimSuffix(got, "\n")
	if want == got {
		return
	}
	if !strings.Contains(want+got, "\n") {
		same := 0
		for same < min(len(want), len(got)) && want[same] == got[same] {
			same++
		}
		c.fail(at, "Text differs", "want %s\ngot  %s", excerpt(want, same), excerpt(got, same))
		return
	}
	c.fail(at, "Text differs", "%s", strings.Join(lineDifferences(want, got), "\n"))
}

const maxExcerpt = 300 // bytes of a text

// excerpt quotes a text, or the part of a long one around an offset.
func excerpt(text string, at int) string {
	if len(text) <= maxExcerpt {
		return strconv.Quote(text)
	}
	from := cut.After(text, max(0, at-maxExcerpt/3))
	to := cut.Before(text, min(len(text), from+maxExcerpt))
	out := strconv.Quote(text[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}

// shown returns the text of the call for a message.
func (c *checker) shown() string { return excerpt(c.out.text, 0) }

// lineDifferences shows the lines that differ of two texts, with the first and last ones that are equal cut.
func lineDifferences(want, got string) (out []string) {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	first := 0
	for first < len(w) && first < len(g) && w[first] == g[first] {
		first++
	}
	last := 0
	for last < len(w)-first && last < len(g)-first && w[len(w)-1-last] == g[len(g)-1-last] {
		last++
	}
	out = append(out, fmt.Sprintf("line %d:", first+1))
	for _, line := range w[first : len(w)-last] {
		out = append(out, "- "+line)
	}
	for _, line := range g[first : len(g)-last] {
		out = append(out, "+ "+line)
	}
	return out
}

func (c *checker) checkMatch(at diag.Range, pattern string) {
	if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(c.out.text) {
		c.fail(at, "Text does not match", "got %s", c.shown())
	}
}

// requireFailure reports a call that has not failed.
func (c *checker) requireFailure(at diag.Range) bool {
	if !c.out.failed && c.out.fault == nil {
		c.fail(at, "Call succeeded", "The call does not fail. Its text is %s", c.shown())
		return false
	}
	return true
}

// failWithoutResult reports an expectation of a structured result, where the answer is a text.
func (c *checker) failWithoutResult(at diag.Range) {
	c.fail(at, "No structured result", "The call gives only text, which text, text_matches and golden compare. In "+
		"that, csvdecode(text) has the rows of CSV. The text is %s", c.shown())
}

func (c *checker) checkResult(at diag.Range, want any, part bool) {
	if !c.out.hasValue {
		c.failWithoutResult(at)
		return
	}
	d := differences{part: part}
	d.compare("result", want, c.out.result)
	if d.lines == nil {
		return
	}
	if d.more > 0 {
		d.lines = append(d.lines, fmt.Sprintf("… %d more", d.more))
	}
	c.fail(at, "Result differs", "%s", strings.Join(d.lines, "\n"))
}

func (c *checker) checkRefused(at diag.Range, name string) {
	switch {
	case c.out.refused == nil:
		c.fail(at, "Arguments accepted", "The call accepts its arguments. Its text is %s", c.shown())
	case !slices.ContainsFunc(c.out.refused, func(path string) bool {
		return path == name || strings.HasPrefix(path, name+".") || strings.HasPrefix(path, name+"[")
	}):
		c.fail(at, "Another argument refused", "want %s, got %s", name, strings.Join(c.out.refused, ", "))
	}
}

func (c *checker) checkDenied(at diag.Range, name string) {
	switch {
	case c.out.rule == "":
		c.fail(at, "Call not denied", "No rule denies the call. Its text is %s", c.shown())
	case !c.out.deniedBy(name):
		c.fail(at, "Denied by another rule", "want %s, got %s", name, c.out.rule)
	}
}

func (c *checker) checkFault(at diag.Range, want any) {
	if c.out.fault == nil {
		c.fail(at, "No protocol error", "The call gives no protocol error. Its text is %s", c.shown())
	} else if !value.Equal(want, c.out.fault.Code) {
		c.fail(at, "Protocol error differs", "want %v, got %d: %s", want, c.out.fault.Code, c.out.text)
	}
}

// checkGolden compares the result with a file: its JSON, or its text if there is no structured result.
func (c *checker) checkGolden(at diag.Range, name string) {
	got := []byte(c.out.text)
	if c.out.hasValue {
		got = indent(c.out.result)
	}
	want, err := fs.ReadFile(c.suite.FS, path.Clean(name))
	difference := ""
	switch {
	case err != nil:
		c.fail(at, "Golden not readable", "%s cannot be read. hatchel test --update writes it.", name)
	case c.out.hasValue:
		decoded, err := value.Decode(want)
		if err != nil {
			c.fail(at, "Golden not readable", "%s is not valid JSON: %s. hatchel test --update writes it.", name, err)
		} else if before := len(c.failures); !value.Equal(decoded, c.out.result) {
			c.checkResult(at, decoded, false)
			if len(c.failures) > before {
				difference = slices.Clone(c.failures[before:]).Scrub(c.config.Secrets)[0].Detail
				c.failures[before].Detail += "\nIf the new result is right, hatchel test --update writes it to " + name
			}
		} else {
			return
		}
	case strings.TrimSuffix(string(want), "\n") != strings.TrimSuffix(string(got), "\n"):
		c.checkText(at, string(want), string(got))
	default:
		return
	}
	if c.goldens == nil {
		c.goldens = map[string]golden{}
	}
	c.goldens[name] = golden{got, difference}
}

// checkThat evaluates a condition.
func (c *checker) checkThat(e *testblock.Expect) {
	frame := *c.Frame
	frame.Input = map[string]any{
		"result": c.out.result, "text": c.out.text, "content": c.out.content, "sent": c.sent, "step": c.out.steps,
		"called": anyList(c.out.called), "after": c.out.after, "args": c.args(), "error": nil,
		"partial": map[string]any{
			"failed": c.out.partial.Failed, "of": c.out.partial.Of, "step": c.out.partial.FailedStep,
			"key": c.out.partial.FailedKey, "error": c.out.partial.Error,
		},
	}
	if c.out.failed || c.out.fault != nil {
		frame.Input["error"] = c.out.text
	}
	holds, err := e.That.Eval(&frame, nil)
	if err == nil && holds {
		return
	}
	summary, reason := "Condition is false", ""
	if err != nil {
		summary, reason = "Condition cannot be computed", diag.ToSentence(err.Error())+"\n"
	}
	at, text := e.That.ExplainFalse(&frame)
	c.fail(at, summary, "%s", reason+text)
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
