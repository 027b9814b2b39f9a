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

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl"
	"hatchel/hcl/value"
	"hatchel/runtime/edge/mcp"
)

// prompter answers the questions of one call. It is not safe for concurrent use.
type prompter struct {
	Terminal *promptTerminal // nil without one

	name    string // of the tool or prompt
	asks    map[string]*hcl.Ask
	answers map[string]any // of the flags, by key
	// texts are those of the flags for questions of other MCP servers, by key: what they ask is known during the call.
	texts map[string]string
}

// newPrompter returns the prompter of a call of an operation. Flags are the values of --answer, key=value. An error
// says which of them is not valid.
func newPrompter(op *hcl.Operation, flags []string, t *promptTerminal) (*prompter, error) {
	p := &prompter{name: op.Name, asks: asksOf(op), answers: map[string]any{}, texts: map[string]string{}, Terminal: t}
	for _, flag := range flags {
		key, text, ok := strings.Cut(flag, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--answer requires name=value, and got %q", flag)
		}
		_, twice := p.answers[key]
		if _, again := p.texts[key]; twice || again {
			return nil, fmt.Errorf("the question %q has two answers", key)
		}
		ask := p.asks[key]
		switch {
		case ask == nil && op.UpstreamAsks(key):
			p.texts[key] = text
			continue
		case ask == nil:
			return nil, p.unknownKey(key)
		}
		var err error
		if p.answers[key], err = parseAnswer(ask, text); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func asksOf(op *hcl.Operation) map[string]*hcl.Ask {
	asks := map[string]*hcl.Ask{}
	for _, s := range op.Steps {
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
		return fmt.Errorf("%s asks no questions, and --answer answers %q", p.name, key)
	}
	return fmt.Errorf("%s has no question %q. It asks %s", p.name, key, console.QuoteList(keys))
}

// capabilities returns the client capabilities for the questions that can be answered: all on a
// terminal. A question that needs another capability uses its fallback.
func (p *prompter) capabilities() []byte {
	if p.Terminal != nil {
		return []byte(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`)
	}
	if len(p.texts) > 0 {
		return []byte(`{"elicitation":{"form":{},"url":{}},"sampling":{}}`)
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

// Run calls run for a caller, and calls it again with the answers as long as it returns questions. An error is for the
// user: it says how to answer the questions that caused it.
func (p *prompter) Run(
	ctx context.Context, caller *mcp.Caller, arguments []byte, run func(*mcp.CallRequest) (*mcp.Questions, error),
) error {
	asked := *caller
	asked.Capabilities = p.capabilities()
	req := &mcp.CallRequest{Name: p.name, Arguments: arguments, Caller: &asked}
	for {
		questions, err := run(req)
		if err != nil {
			text := err.Error()
			if hint := p.Hint(text); hint != "" {
				text += "\n" + hint
			}
			return errors.New(text)
		}
		if questions == nil {
			return nil
		}
		answers, err := p.answer(ctx, questions.Ask)
		if err != nil {
			return err
		}
		req = &mcp.CallRequest{
			Name: p.name, Arguments: arguments, Caller: &asked, Answers: answers, State: questions.State,
		}
	}
}

// answer answers the questions of one round.
func (p *prompter) answer(ctx context.Context, questions []mcp.Question) ([]byte, error) {
	answers := map[string]any{}
	var missing []string
	for _, q := range questions {
		if err := p.readBackendQuestion(q); err != nil {
			return nil, err
		}
		if answer, ok := p.answers[q.Key]; ok {
			answers[q.Key] = answer
			continue
		}
		if p.Terminal == nil {
			missing = append(missing, q.Key)
			continue
		}
		answer, err := p.Terminal.ask(ctx, p.name, p.asks[q.Key], q)
		switch {
		case errors.Is(err, context.Canceled) || errors.Is(err, errNoAnswer):
			return nil, fmt.Errorf("%s got no answer, and nothing after the question was done", p.name)
		case err != nil:
			return nil, fmt.Errorf("the answer cannot be read: %w", err)
		}
		answers[q.Key] = answer
	}
	if len(missing) > 0 {
		return nil, errors.New(p.flagsFor(missing))
	}
	out, err := value.AppendJSON(nil, answers)
	if err != nil {
		return nil, fmt.Errorf("the answers cannot be encoded as JSON: %s", err)
	}
	return out, nil
}

// readBackendQuestion reads a question that no ask block asks, and the flag that answers it.
func (p *prompter) readBackendQuestion(q mcp.Question) error {
	if p.asks[q.Key] != nil {
		return nil
	}
	ask, err := readBackendAsk(q)
	if err != nil {
		return err
	}
	p.asks[q.Key] = ask
	if text, ok := p.texts[q.Key]; ok {
		p.answers[q.Key], err = parseAnswer(ask, text)
	}
	return err
}

// Hint says how to answer the questions that caused a failure: those that its text names, or whose capability it
// names. It is empty if there are none, or if they were asked on the terminal.
func (p *prompter) Hint(failure string) string {
	if p.Terminal != nil {
		return ""
	}
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(p.asks)) {
		required := "Missing required client capability: " + strings.TrimSuffix(capabilityOf(p.asks[key]), ".form")
		if _, ok := p.answers[key]; !ok && (failure == required || strings.Contains(failure, strconv.Quote(key))) {
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return p.flagsFor(missing)
}

// flagsFor names the flags that answer questions.
func (p *prompter) flagsFor(keys []string) string {
	flags := make([]string, len(keys))
	for i, key := range keys {
		flags[i] = "--answer " + key + "=" + exampleAnswer(p.asks[key])
	}
	return fmt.Sprintf("%s asks %s: answer with %s, or on a terminal", p.name, console.QuoteList(keys),
		strings.Join(flags, " "))
}
