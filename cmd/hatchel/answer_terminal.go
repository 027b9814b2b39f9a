package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"hatchel/cmd/hatchel/console"
	"hatchel/hcl"
	"hatchel/hcl/schema"
	"hatchel/internal/printable"
	"hatchel/runtime/edge/mcp"
)

// promptTerminal asks questions on a terminal. Output contains no control characters, because messages
// may quote callers.
type promptTerminal struct {
	in  *bufio.Reader
	out io.Writer
}

// newPromptTerminal returns the terminal that in and out are.
func newPromptTerminal(in io.Reader, out io.Writer) *promptTerminal {
	return &promptTerminal{bufio.NewReader(in), terminalWriter{out}}
}

// terminalWriter replaces control characters, except line feeds, with spaces.
type terminalWriter struct{ io.Writer }

func (w terminalWriter) Write(p []byte) (int, error) {
	text := printable.Replace(string(p), "\n", func(rune) string { return " " })
	if _, err := io.WriteString(w.Writer, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// errNoAnswer reports the end of the input.
var errNoAnswer = errors.New("the input has ended")

// readLine reads one line. It returns early when the context ends; the terminal is not usable after
// that.
func (t *promptTerminal) readLine(ctx context.Context) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := t.in.ReadString('\n')
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(t.out)
		return "", ctx.Err()
	case r := <-done:
		if errors.Is(r.err, io.EOF) && r.text == "" {
			fmt.Fprintln(t.out)
			return "", errNoAnswer
		}
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			return "", r.err
		}
		return strings.TrimRight(r.text, "\r\n"), nil
	}
}

// readLines reads lines up to an empty one or to the end of the input.
func (t *promptTerminal) readLines(ctx context.Context) (lines []string, err error) {
	for {
		fmt.Fprint(t.out, "> ")
		line, err := t.readLine(ctx)
		if errors.Is(err, errNoAnswer) && len(lines) > 0 {
			return lines, nil
		}
		if err != nil || strings.TrimSpace(line) == "" {
			return lines, err
		}
		lines = append(lines, line)
	}
}

// ask asks one question and returns the answer that a client sends. The end of the input dismisses
// a question to the user; for other questions it is errNoAnswer.
func (t *promptTerminal) ask(ctx context.Context, name string, ask *hcl.Ask, q mcp.Question) (map[string]any, error) {
	var question struct {
		Message  string
		URL      string
		System   string `json:"systemPrompt"`
		Messages []console.Message
	}
	if err := json.Unmarshal(q.Params, &question); err != nil {
		return nil, err
	}
	fmt.Fprintf(t.out, "\n%s asks %q\n", name, ask.Key)
	switch {
	case ask.Sample != nil:
		if question.System != "" {
			fmt.Fprintf(t.out, "system:\n%s\n", question.System)
		}
		console.PrintMessages(t.out, question.Messages)
		fmt.Fprintln(t.out, "Answer in place of the model. An empty line ends the answer.")
		lines, err := t.readLines(ctx)
		return sampleAnswer(strings.Join(lines, "\n")), err
	case ask.Roots != nil:
		fmt.Fprintln(t.out, "Directories to share, one a line. An empty line ends the list.")
		lines, err := t.readLines(ctx)
		if err != nil {
			return nil, err
		}
		list := make([]any, len(lines))
		for i, line := range lines {
			list[i] = line
		}
		return rootsAnswer(list)
	}
	fmt.Fprintln(t.out, question.Message)
	if ask.Elicit.URL != nil {
		fmt.Fprintf(t.out, "Open %s\n", question.URL)
	}
	answer, err := t.elicit(ctx, ask.Elicit.Fields)
	if errors.Is(err, errNoAnswer) {
		return map[string]any{"action": "cancel"}, nil
	}
	return answer, err
}

// elicit reads the fields of a form, which may be nil, and the action.
func (t *promptTerminal) elicit(ctx context.Context, form *schema.Type) (map[string]any, error) {
	content := map[string]any{}
	if form != nil {
		for _, m := range form.Members {
			v, err := t.readField(ctx, m)
			if err != nil {
				return nil, err
			}
			if v != nil {
				content[m.Name] = v
			}
		}
	}
	for {
		fmt.Fprint(t.out, "accept, decline or cancel: ")
		line, err := t.readLine(ctx)
		if err != nil {
			return nil, err
		}
		switch action := strings.TrimSpace(line); action {
		case "accept":
			return acceptAnswer(content), nil
		case "decline", "cancel":
			return map[string]any{"action": action}, nil
		}
	}
}

// readField reads a field until its value is valid. It returns nil for an optional field that is
// left empty.
func (t *promptTerminal) readField(ctx context.Context, m *schema.Member) (any, error) {
	validator, label := m.Type.Compile(), m.Type.String()
	if m.Optional {
		label += ", optional"
	}
	if m.Type.Description != "" {
		fmt.Fprintln(t.out, m.Type.Description)
	}
	for {
		fmt.Fprintf(t.out, "%s (%s): ", m.Name, label)
		line, err := t.readLine(ctx)
		if err != nil || m.Optional && strings.TrimSpace(line) == "" {
			return nil, err
		}
		v, isList := parseArgument(m.Type, line)
		if isSequence(m.Type) && !isList {
			v = []any{v}
		}
		_, violations, _ := validator.Check(v, schema.Unlimited)
		if len(violations) == 0 {
			return v, nil
		}
		fmt.Fprintf(t.out, "Not valid: %s\n", violations[0])
	}
}

// AskApproval shows a call that needs approval and its effect. Any answer except yes rejects it.
func (t *promptTerminal) AskApproval(ctx context.Context, tool, rules, effect string) (bool, error) {
	fmt.Fprintf(t.out, "\n%s requires an approval (%s)\n%s\n\nApprove? [y/N] ", tool, rules, effect)
	line, err := t.readLine(ctx)
	if errors.Is(err, errNoAnswer) {
		return false, nil
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", err
}
