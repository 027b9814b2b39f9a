package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"

	"hatchel/hcl"
	"hatchel/hcl/spelling"
	"hatchel/runtime/mcp"
)

// writeError returns the error for a result that could not be written, or nil.
func writeError(err error) error {
	if err == nil {
		return nil
	}
	return failf("the result cannot be written: %s", reason(err))
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return writeError(e.Encode(v))
}

// count is a number of things with a name.
type count struct {
	n    int
	noun string
}

// joinCounts returns a phrase as in "2 tools, 1 prompt", or none when all numbers are 0.
func joinCounts(separator, none string, counts ...count) string {
	var parts []string
	for _, c := range counts {
		if c.n > 0 {
			parts = append(parts, plural(c.n, c.noun))
		}
	}
	return cmp.Or(strings.Join(parts, separator), none)
}

// countDiagnostics returns a phrase as in "2 errors and 1 warning".
func countDiagnostics(diags hcl.Diagnostics) string {
	errs, warnings := diags.Counts()
	return joinCounts(" and ", "no errors", count{errs, "error"}, count{warnings, "warning"})
}

// countCapabilities returns a phrase as in "2 tools, 1 prompt".
func countCapabilities(tools, prompts, resources int) string {
	return joinCounts(", ", "nothing", count{tools, "tool"}, count{prompts, "prompt"}, count{resources, "resource"})
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// quoteList returns a phrase as in `"a", "b" and "c"`.
func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	if last := len(quoted) - 1; last > 0 {
		return strings.Join(quoted[:last], ", ") + " and " + quoted[last]
	}
	return quoted[0]
}

// reason returns an error of the operating system without the path and the operation, which the
// sentence around it names.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrExist):
		return "it exists already"
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// notFound returns the error for a name that a directory does not declare, with the nearest
// declared name.
func notFound(kind, name, dir string, names []string) error {
	hint := ""
	if near := spelling.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", near)
	}
	return failf("there is no %s %q in %s.%s", kind, name, folderName(dir), hint)
}

// protocolFailure converts an error of the MCP handler to the error of a command.
func protocolFailure(err error) error {
	var e *mcp.Error
	if errors.As(err, &e) {
		return failf("%s", e.Message)
	}
	return failf("%s", err)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// printable replaces characters that could control a terminal, and line breaks, with spaces.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// content is a content block of a result, as far as a terminal can show it.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     []byte `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
		Blob []byte `json:"blob"`
	} `json:"resource"`
}

func (c *content) print(w io.Writer) {
	switch c.Type {
	case "text":
		fmt.Fprintln(w, strings.TrimSuffix(c.Text, "\n"))
	case "resource_link":
		fmt.Fprintf(w, "[link %s: %s]\n", c.Name, c.URI)
	case "resource":
		if c.Resource.Text != "" {
			fmt.Fprintf(w, "[resource %s]\n%s\n", c.Resource.URI, c.Resource.Text)
			return
		}
		fmt.Fprintf(w, "[resource %s, %d bytes]\n", c.Resource.URI, len(c.Resource.Blob))
	default:
		fmt.Fprintf(w, "[%s %s, %d bytes]\n", c.Type, c.MimeType, len(c.Data))
	}
}

// message is a message of a prompt or of a sampling request.
type message struct {
	Role    string
	Content content
}

// printMessages prints messages, with a heading where the role changes.
func printMessages(w io.Writer, messages []message) {
	for i, m := range messages {
		if i == 0 || messages[i-1].Role != m.Role {
			fmt.Fprintf(w, "%s:\n", m.Role)
		}
		m.Content.print(w)
	}
}

// showSpinner shows on a terminal that an operation takes longer than a second. The returned
// function removes it.
func showSpinner(w io.Writer, operation string) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	stopping := make(chan struct{})
	var spinning sync.WaitGroup
	spinning.Go(func() {
		start, pause := time.Now(), time.Second
		for n := 0; ; n++ {
			select {
			case <-stopping:
				if n > 0 {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-time.After(pause):
				fmt.Fprintf(w, "\r%c %s (%ds)", `|/-\`[n%4], operation, int(time.Since(start).Seconds()))
				pause = 120 * time.Millisecond
			}
		}
	})
	return sync.OnceFunc(func() {
		close(stopping)
		spinning.Wait()
	})
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
