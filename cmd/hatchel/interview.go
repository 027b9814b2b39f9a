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

// asking is the flag of commands that can be asked.
type asking struct{ answers []string }

// askedHelp is what the help of such a command says of it.
const askedHelp = `What is asked meanwhile is answered by --answer, one for each question: key='{"field": "value"}' for a form, key=accept where there is nothing
to fill in, key=decline and key=cancel, key='a text' for the model, key='["/a/folder"]' for roots. On a terminal whatever is not answered so
is asked there; an input that ends (Ctrl-D) dismisses a question, and Ctrl-C ends the call. Elsewhere only
questions of a kind that is answered by a flag (forms, pages, the model, roots) are asked, and each of them needs its answer; any other has
its fallback, or the call is refused and says which answers it takes.`

func (a *asking) answerFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.answers, "answer", nil, "the answer to one question, `key=JSON`, or key=decline, key=cancel; may be repeated")
}

// interview answers what one call asks, as a client does: with what the flags say, and with what is filled in at the terminal, if there is one.
type interview struct {
	about string              // the name of what is called
	asks  map[string]*hcl.Ask // all that it may ask, by key
	said  map[string]any      // what the flags answer, by key
	form  *form               // nil when nobody is at a terminal

	caller *mcp.Caller // for whom it is done; nil for nobody
}

// interview is that of a call of the work, before anything is done.
func (a *asking) interview(cmd *cobra.Command, work *hcl.Operation) (*interview, error) {
	i := &interview{about: work.Name, asks: asksOf(work), said: map[string]any{}}
	for _, flag := range a.answers {
		key, text, ok := strings.Cut(flag, "=")
		if !ok || key == "" {
			return nil, misusef("--answer takes key=JSON, and got %q", flag)
		}
		ask := i.asks[key]
		if ask == nil {
			return nil, i.unasked(key)
		}
		if _, twice := i.said[key]; twice {
			return nil, misusef("the question %q is answered twice", key)
		}
		said, err := answerOf(ask, text)
		if err != nil {
			return nil, err
		}
		i.said[key] = said
	}
	i.form = formOf(cmd)
	return i, nil
}

// formOf asks who is at the terminal; nil when nobody is.
func formOf(cmd *cobra.Command) *form {
	if in := cmd.InOrStdin(); isTerminal(in) && isTerminal(cmd.ErrOrStderr()) {
		return newForm(in, cmd.ErrOrStderr())
	}
	return nil
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

func (i *interview) unasked(key string) error {
	keys := slices.Sorted(maps.Keys(i.asks))
	if len(keys) == 0 {
		return misusef("%s asks nothing, and --answer answers %q", i.about, key)
	}
	return misusef("%s does not ask %q. It asks %s", i.about, key, quoted(keys))
}

// capabilities are those of the kinds of questions that can be answered: all of them at a terminal. A question of another kind is answered by its fallback.
func (i *interview) capabilities() []byte {
	if i.form != nil {
		return []byte(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`)
	}
	can := map[string]map[string]struct{}{}
	for key := range i.said {
		name, part, _ := strings.Cut(needOf(i.asks[key]), ".")
		if can[name] == nil {
			can[name] = map[string]struct{}{}
		}
		if part != "" {
			can[name][part] = struct{}{}
		}
	}
	out, err := json.Marshal(can)
	if err != nil {
		panic(err) // these are objects only
	}
	return out
}

// needOf is what a client declares that can answer the question.
func needOf(a *hcl.Ask) string {
	switch {
	case a.Sample != nil:
		return "sampling"
	case a.Roots != nil:
		return "roots"
	case a.Elicit.URL != nil:
		return "elicitation.url"
	}
	return "elicitation.form"
}

// conduct does a request, and does it again with the answers as long as it asks.
func (i *interview) conduct(ctx context.Context, arguments []byte, once func(*mcp.CallRequest) (*mcp.Questions, error)) error {
	caller := &mcp.Caller{Revision: mcp.Revision20260728}
	if i.caller != nil {
		*caller = *i.caller
	}
	caller.Capabilities = i.capabilities()
	req := &mcp.CallRequest{Name: i.about, Arguments: arguments, Caller: caller}
	for {
		asked, err := once(req)
		if err != nil {
			failed := refused(err)
			return i.explained(failed, failed.Error())
		}
		if asked == nil {
			return nil
		}
		answers, err := i.answer(ctx, asked.Ask)
		if err != nil {
			return err
		}
		req = &mcp.CallRequest{Name: i.about, Arguments: arguments, Caller: caller, Answers: answers, State: asked.State}
	}
}

// answer answers all questions of one round.
func (i *interview) answer(ctx context.Context, questions []mcp.Question) ([]byte, error) {
	answers := map[string]any{}
	var open []string
	for _, q := range questions {
		if said, ok := i.said[q.Key]; ok {
			answers[q.Key] = said
		} else if i.form == nil {
			open = append(open, q.Key)
		}
	}
	if len(open) > 0 {
		return nil, failf("%s", i.howToAnswer(open))
	}
	for _, q := range questions {
		if _, ok := answers[q.Key]; ok {
			continue
		}
		answer, err := i.form.ask(ctx, i.about, i.asks[q.Key], q)
		if err != nil {
			return nil, i.left(err)
		}
		answers[q.Key] = answer
	}
	out, err := value.AppendJSON(nil, answers)
	if err != nil {
		return nil, failf("the answers cannot be written as JSON: %s", err)
	}
	return out, nil
}

// left is why a form was left before it was filled in.
func (i *interview) left(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, errNoAnswer) {
		return failf("%s was given no answer, and nothing after the question was done", i.about)
	}
	return failf("the answer cannot be read: %s", reason(err))
}

// explained is a failure, and how to answer the questions that could not be asked here if that is what it comes from: the text, which says what failed, names such a question or
// the capability that it takes.
func (i *interview) explained(failed error, text string) error {
	if i.form != nil {
		return failed
	}
	var open []string
	for _, key := range slices.Sorted(maps.Keys(i.asks)) {
		missing := "Missing required client capability: " + strings.TrimSuffix(needOf(i.asks[key]), ".form")
		if _, said := i.said[key]; !said && (text == missing || strings.Contains(text, strconv.Quote(key))) {
			open = append(open, key)
		}
	}
	if len(open) == 0 {
		return failed
	}
	return failf("%s", strings.TrimPrefix(failed.Error()+"\n"+i.howToAnswer(open), "\n"))
}

// howToAnswer says which flags answer the questions.
func (i *interview) howToAnswer(keys []string) string {
	flags := make([]string, len(keys))
	for n, key := range keys {
		flags[n] = "--answer " + key + "=" + exampleOf(i.asks[key])
	}
	return fmt.Sprintf("%s asks %s: answer with %s, or on a terminal", i.about, quoted(keys), strings.Join(flags, " "))
}

// quoted are names in a sentence.
func quoted(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = strconv.Quote(name)
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return words[0]
}
