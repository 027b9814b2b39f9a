package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/mcp"
)

// prompter answers the questions of one call, as a client does: with the values of --answer, and on
// a terminal.
type prompter struct {
	name     string // of the tool or prompt
	asks     map[string]*hcl.Ask
	answers  map[string]any // of the flags, by key
	terminal *terminal      // nil without one
	caller   *mcp.Caller    // nil for an anonymous caller
}

// prompter returns the prompter of a call, and checks the values of --answer.
func (a *answerFlags) prompter(cmd *cobra.Command, work *hcl.Operation) (*prompter, error) {
	p := &prompter{name: work.Name, asks: asksOf(work), answers: map[string]any{}, terminal: newTerminal(cmd)}
	for _, flag := range a.answers {
		key, text, err := splitPair("answer", flag)
		if err != nil {
			return nil, err
		}
		ask := p.asks[key]
		if ask == nil {
			return nil, p.unknownKey(key)
		}
		if _, twice := p.answers[key]; twice {
			return nil, misusef("the question %q has two answers", key)
		}
		if p.answers[key], err = parseAnswer(ask, text); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func asksOf(work *hcl.Operation) map[string]*hcl.Ask {
	asks := map[string]*hcl.Ask{}
	for _, s := range work.Steps {
		if r, ok := s.Backend.Config.(*hcl.AskGroup); ok {
			for _, a := range r.Asks {
				asks[a.Key] = a
			}
		}
	}
	return asks
}

func (p *prompter) unknownKey(key string) error {
	keys := slices.Sorted(maps.Keys(p.asks))
	if len(keys) == 0 {
		return misusef("%s asks no questions, and --answer answers %q", p.name, key)
	}
	return misusef("%s has no question %q. It asks %s", p.name, key, quoteList(keys))
}

// capabilities returns the client capabilities for the questions that can be answered: all on a
// terminal. A question that needs another capability uses its fallback.
func (p *prompter) capabilities() []byte {
	if p.terminal != nil {
		return []byte(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`)
	}
	capabilities := map[string]map[string]struct{}{}
	for key := range p.answers {
		name, part, _ := strings.Cut(capabilityOf(p.asks[key]), ".")
		if capabilities[name] == nil {
			capabilities[name] = map[string]struct{}{}
		}
		if part != "" {
			capabilities[name][part] = struct{}{}
		}
	}
	out, err := json.Marshal(capabilities)
	if err != nil {
		panic(err) // maps of strings always marshal
	}
	return out
}

// capabilityOf returns the capability of a client that can answer a question.
func capabilityOf(ask *hcl.Ask) string {
	switch {
	case ask.Sample != nil:
		return "sampling"
	case ask.Roots != nil:
		return "roots"
	case ask.Elicit.URL != nil:
		return "elicitation.url"
	}
	return "elicitation.form"
}

// runWithAnswers calls run, and calls it again with the answers as long as it returns questions.
func (p *prompter) runWithAnswers(
	ctx context.Context, arguments []byte, run func(*mcp.CallRequest) (*mcp.Questions, error),
) error {
	caller := &mcp.Caller{Revision: mcp.Revision20260728}
	if p.caller != nil {
		*caller = *p.caller
	}
	caller.Capabilities = p.capabilities()
	req := &mcp.CallRequest{Name: p.name, Arguments: arguments, Caller: caller}
	for {
		questions, err := run(req)
		if err != nil {
			failed := protocolFailure(err)
			return p.withHint(failed, failed.Error())
		}
		if questions == nil {
			return nil
		}
		answers, err := p.answer(ctx, questions.Ask)
		if err != nil {
			return err
		}
		req = &mcp.CallRequest{
			Name: p.name, Arguments: arguments, Caller: caller, Answers: answers, State: questions.State,
		}
	}
}

// answer answers the questions of one round.
func (p *prompter) answer(ctx context.Context, questions []mcp.Question) ([]byte, error) {
	answers := map[string]any{}
	var missing []string
	for _, q := range questions {
		if answer, ok := p.answers[q.Key]; ok {
			answers[q.Key] = answer
			continue
		}
		if p.terminal == nil {
			missing = append(missing, q.Key)
			continue
		}
		answer, err := p.terminal.ask(ctx, p.name, p.asks[q.Key], q)
		switch {
		case errors.Is(err, context.Canceled) || errors.Is(err, errNoAnswer):
			return nil, failf("%s got no answer, and nothing after the question was done", p.name)
		case err != nil:
			return nil, failf("the answer cannot be read: %s", reason(err))
		}
		answers[q.Key] = answer
	}
	if len(missing) > 0 {
		return nil, failf("%s", p.hint(missing))
	}
	out, err := value.AppendJSON(nil, answers)
	if err != nil {
		return nil, failf("the answers cannot be encoded as JSON: %s", err)
	}
	return out, nil
}

// withHint adds to a failure how to answer the questions that caused it: those that the text names,
// or whose capability it names.
func (p *prompter) withHint(failed error, text string) error {
	if p.terminal != nil {
		return failed
	}
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(p.asks)) {
		required := "Missing required client capability: " + strings.TrimSuffix(capabilityOf(p.asks[key]), ".form")
		if _, ok := p.answers[key]; !ok && (text == required || strings.Contains(text, strconv.Quote(key))) {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return failed
	}
	return failf("%s", strings.TrimPrefix(failed.Error()+"\n"+p.hint(missing), "\n"))
}

// hint names the flags that answer questions.
func (p *prompter) hint(keys []string) string {
	flags := make([]string, len(keys))
	for i, key := range keys {
		flags[i] = "--answer " + key + "=" + exampleAnswer(p.asks[key])
	}
	return fmt.Sprintf("%s asks %s: answer with %s, or on a terminal", p.name, quoteList(keys),
		strings.Join(flags, " "))
}
