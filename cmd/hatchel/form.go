package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"hatchel/hcl"
	"hatchel/runtime/mcp"
)

// form asks a person at a terminal, one line after the other. What it shows has no control characters: a message may quote what anybody wrote.
type form struct {
	in  *bufio.Reader
	out io.Writer
}

func newForm(in io.Reader, out io.Writer) *form {
	return &form{bufio.NewReader(in), graphic{out}}
}

// graphic writes text without what would steer a terminal.
type graphic struct{ io.Writer }

func (g graphic) Write(p []byte) (int, error) {
	shown := strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsGraphic(r) {
			return r
		}
		return ' '
	}, string(p))
	if _, err := io.WriteString(g.Writer, shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// errNoAnswer is that there is nothing to answer with: the input has ended.
var errNoAnswer = errors.New("there is no answer")

// line reads one line. It ends with the context, though what is being typed is read on: nothing else is asked then.
func (f *form) line(ctx context.Context) (string, error) {
	type read struct {
		text string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		text, err := f.in.ReadString('\n')
		done <- read{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(f.out)
		return "", ctx.Err()
	case r := <-done:
		if errors.Is(r.err, io.EOF) && r.text == "" {
			fmt.Fprintln(f.out)
			return "", errNoAnswer
		}
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return "", r.err
		}
		return strings.TrimRight(r.text, "\r\n"), nil
	}
}

// ask puts one question, and returns the answer as a client sends it. The error is errNoAnswer, that of the context, or why the terminal cannot be read. An input that ends
// dismisses what a user is asked.
func (f *form) ask(ctx context.Context, about string, a *hcl.Ask, q mcp.Question) (map[string]any, error) {
	var said question
	if err := json.Unmarshal(q.Params, &said); err != nil {
		return nil, err
	}
	fmt.Fprintf(f.out, "\n%s asks %q\n", about, a.Key)
	switch {
	case a.Sample != nil:
		return f.sample(ctx, &said)
	case a.Roots != nil:
		return f.roots(ctx)
	}
	answer, err := f.elicit(ctx, a, &said)
	if errors.Is(err, errNoAnswer) {
		return map[string]any{"action": "cancel"}, nil
	}
	return answer, err
}

// question is what a question says.
type question struct {
	Message  string
	URL      string
	System   string `json:"systemPrompt"`
	Messages []message
}

// elicit shows what the user is asked, has the fields filled in, and asks whether that is sent.
func (f *form) elicit(ctx context.Context, a *hcl.Ask, said *question) (map[string]any, error) {
	fmt.Fprintf(f.out, "%s\n", said.Message)
	if a.Elicit.URL != nil {
		fmt.Fprintf(f.out, "The page is %s\n", said.URL)
		return f.decide(ctx, "Was it opened?", "yes", "decline", "cancel")
	}
	members := a.Elicit.Fields.Members
	if len(members) == 0 {
		return f.decide(ctx, "Do you agree?", "yes", "decline", "cancel")
	}
	for {
		content := map[string]any{}
		for _, m := range members {
			v, err := f.field(ctx, m)
			if err != nil {
				return nil, err
			}
			if v != nil {
				content[m.Name] = v
			}
		}
		answer, err := f.decide(ctx, "Send this?", "yes", "again", "decline", "cancel")
		switch {
		case err != nil:
			return nil, err
		case answer["action"] == "accept":
			return accepted(content), nil
		case answer["action"] != "again":
			return answer, nil
		}
	}
}

// decide asks which of the words becomes the action; yes is to accept, without content. The words differ in their first letters, each of which stands for its word.
func (f *form) decide(ctx context.Context, ask string, words ...string) (map[string]any, error) {
	for {
		fmt.Fprintf(f.out, "%s [%s] ", ask, strings.Join(words, "/"))
		text, err := f.line(ctx)
		if err != nil {
			return nil, err
		}
		text = strings.ToLower(strings.TrimSpace(text))
		for _, word := range words {
			switch {
			case text == "" || !strings.HasPrefix(word, text):
			case word == "yes":
				return accepted(map[string]any{}), nil
			default:
				return map[string]any{"action": word}, nil
			}
		}
	}
}

// sample shows what the model is asked, and takes a paragraph for its answer.
func (f *form) sample(ctx context.Context, said *question) (map[string]any, error) {
	if said.System != "" {
		fmt.Fprintf(f.out, "system:\n%s\n", said.System)
	}
	printMessages(f.out, said.Messages)
	fmt.Fprintln(f.out, "Answer in the place of the model. An empty line ends the answer.")
	for {
		lines, err := f.paragraph(ctx)
		if err != nil {
			return nil, err
		}
		if len(lines) > 0 {
			return sampled(strings.Join(lines, "\n")), nil
		}
	}
}

// roots asks for folders, of which there may be none.
func (f *form) roots(ctx context.Context) (map[string]any, error) {
	fmt.Fprintln(f.out, "Which folders are open? One in each line; an empty line ends the list.")
	lines, err := f.paragraph(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(lines))
	for i, l := range lines {
		list[i] = l
	}
	return rooted(list)
}

// paragraph reads lines up to an empty one, or to the end of the input.
func (f *form) paragraph(ctx context.Context) (lines []string, err error) {
	for {
		fmt.Fprint(f.out, "> ")
		line, err := f.line(ctx)
		if errors.Is(err, errNoAnswer) && len(lines) > 0 {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "" {
			return lines, nil
		}
		lines = append(lines, line)
	}
}
