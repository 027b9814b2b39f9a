package curl

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
)

// reference surrounds the name of a variable in a word. It cannot occur in an argument of a program. The name of a
// placeholder, which is no variable of a shell, begins with a hyphen.
const reference = "\x00"

// maxCommand is the maximum size of a command in bytes.
const maxCommand = 4 << 20

// Command is a curl command.
type Command struct {
	Words []string
	// Stdin is the text that the command reads, if HasStdin.
	Stdin    string
	HasStdin bool
	// Dropped are parts of the text around the command that change no request, such as "the pipe to jq".
	Dropped []string
	// Computed are programs whose output is part of a word.
	Computed []string
}

// errPlain refuses a text with more than one command.
var errPlain = errors.New("give one plain curl command, without loops, functions and other commands that send requests")

var (
	typographic  = lazyregexp.New(`(?m)(^|[\s=:])[“”„‘’]|\s[–—]+[A-Za-z]`)
	prompt       = lazyregexp.New(`^(?:\$|%|#|❯|>) (?:\s*)(?:curl)|^(?:PS )?[A-Za-z]:\\[^>\n]*>\s*`)
	lateBreak    = lazyregexp.New(`\\[ \t]+\r?\n`)
	cmdCaret     = lazyregexp.New(`\^[ \t]*\r?\n|\^"`)
	cmdVariable  = lazyregexp.New(`%([A-Za-z_][A-Za-z_]{2,}[A-Za-z0-9_]*)%`)
	powershell   = lazyregexp.New("`[ \t]*\r?\n|\\$(?:\\(\\$|\\{)?env:|@[\"'][ \t]*\r?\n")
	openBracket  = lazyregexp.New(`^<([A-Za-z][A-Za-z0-9 _.-]{0,60})>`)
	curlPrograms = []string{"curl", "curl.exe"}
	prefixes     = []string{"sudo", "command", "exec", "nohup", "winpty"} // programs that run the one they name
)

// Split returns the curl command of a text, without running anything: the words are those that a POSIX shell, cmd.exe
// or PowerShell would give to the program. A variable becomes its name between two reference bytes.
func Split(text string) (Command, error) {
	if len(text) > maxCommand {
		return Command{}, fmt.Errorf("the command is larger than %d MiB", maxCommand>>20)
	}
	text = unquoteMarkdown(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")))
	shown := strings.TrimSuffix(prompt.FindString(text), "curl") // by a shell, before what is typed
	text = strings.TrimSpace(strings.TrimPrefix(text, shown))
	if typographic.MatchString(text) {
		return Command{}, errors.New("the command has typographic quotes or dashes, which are no syntax of a shell: " +
			"replace them by \", ' and -")
	}
	isExe := strings.HasPrefix(text, "curl.exe")
	switch {
	case strings.HasPrefix(shown, "PS "), powershell.MatchString(text), isExe && strings.Contains(text, "'"):
		return splitPowerShell(text)
	case cmdCaret.MatchString(text), isExe, shown != "" && strings.HasSuffix(strings.TrimSpace(shown), ">"),
		cmdVariable.MatchString(text) && !strings.Contains(text, "'"):
		return splitCmd(text)
	}
	return splitShell(text)
}

// unquoteMarkdown returns a text without the back quotes around code.
func unquoteMarkdown(text string) string {
	if code, fenced := strings.CutPrefix(text, "```"); fenced {
		_, code, _ = strings.Cut(code, "\n") // its language
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(code), "```"))
	}
	if len(text) > 1 && text[0] == '`' && strings.Count(text, "`") == 2 {
		return strings.TrimSpace(strings.Trim(text, "`"))
	}
	return text
}

// splitShell reads a command of a POSIX shell.
func splitShell(text string) (Command, error) {
	text = quoteBrackets(lateBreak.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n"))
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return Command{}, fmt.Errorf("the command is not valid: %w; write words with special characters in quotes", err)
	}
	s := new(shellReader)
	for _, stmt := range file.Stmts {
		if err := s.statement(stmt, ""); err != nil {
			return Command{}, err
		}
	}
	switch {
	case len(s.found) > 1:
		return Command{}, fmt.Errorf("the text has %d curl commands; import each alone", len(s.found))
	case s.found == nil && len(s.others) != 1:
		return Command{}, errPlain
	case s.found == nil:
		return s.others[0], nil // whose program is named when it is read
	}
	c := s.found[0]
	c.Dropped = append(c.Dropped, s.dropped...)
	return c, nil
}

// quoteBrackets quotes the placeholders of a text that a shell would take for redirections: <id> outside of quotes.
func quoteBrackets(text string) string {
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			out.WriteString(text[i : i+2])
			i++
			continue
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '<' && (i == 0 || text[i-1] != '<'):
			if m := openBracket.FindString(text[i:min(len(text), i+64)]); m != "" {
				out.WriteString("'" + m + "'")
				i += len(m) - 1
				continue
			}
		}
		out.WriteByte(c)
	}
	return out.String()
}

// shellReader finds the curl command among the statements of a text.
type shellReader struct {
	inPipe  bool
	piped   *string // what the program before a pipe prints, if it is known
	found   []Command
	others  []Command
	dropped []string
}

// statement reads a statement; operator is what comes before it, such as "the pipe to".
func (s *shellReader) statement(stmt *syntax.Stmt, operator string) error {
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		isPipe := cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll
		s.inPipe = isPipe
		if err := s.statement(cmd.X, operator); err != nil {
			return err
		}
		if s.inPipe = false; isPipe {
			defer func() { s.piped = nil }()
			return s.statement(cmd.Y, "the pipe to")
		}
		return s.statement(cmd.Y, "the command after it,")
	case *syntax.CallExpr:
		return s.call(stmt, cmd, operator)
	case *syntax.DeclClause:
		s.dropped = append(s.dropped, "the assignment of a variable")
		return nil
	}
	return errPlain
}

func (s *shellReader) call(stmt *syntax.Stmt, call *syntax.CallExpr, operator string) error {
	var c Command
	for _, a := range call.Assigns {
		c.Dropped = append(c.Dropped, "the assignment of "+a.Name.Value)
	}
	for _, w := range call.Args {
		word, err := c.expand(w)
		if err != nil {
			return err
		}
		c.Words = append(c.Words, word)
	}
	for len(c.Words) > 1 && slices.Contains(prefixes, c.Words[0]) {
		c.Words = c.Words[1:]
	}
	switch {
	case len(c.Words) == 0 && len(call.Assigns) == 1 && substitution(call.Assigns[0].Value) != nil:
		s.dropped = append(s.dropped, c.Dropped...)
		for _, inner := range substitution(call.Assigns[0].Value).Stmts {
			if err := s.statement(inner, ""); err != nil {
				return err
			}
		}
		return nil
	case len(c.Words) == 0:
		s.dropped = append(s.dropped, c.Dropped...)
		return nil
	case c.Words[0] == "true" && operator != "":
		return nil
	case strings.HasPrefix(c.Words[0], "-"):
		return fmt.Errorf("a line begins with the option %s: end the line before it with \\", c.Words[0])
	case !isCurl(c.Words[0]) && operator == "" && s.inPipe && s.keepPrinted(stmt, c):
		return nil
	case !isCurl(c.Words[0]) && operator == "":
		s.others = append(s.others, c)
		s.dropped = append(s.dropped, "the command "+path.Base(c.Words[0]))
		return nil
	case !isCurl(c.Words[0]):
		s.dropped = append(s.dropped, operator+" "+path.Base(c.Words[0]))
		return nil
	case stmt.Negated:
		return errPlain
	case stmt.Background:
		return errors.New("an & that is not quoted ends the command in a shell: write the URL in quotes")
	}
	if s.piped != nil && operator == "the pipe to" {
		c.Stdin, c.HasStdin = *s.piped, true
	}
	for _, r := range stmt.Redirs {
		if err := c.redirect(r); err != nil {
			return err
		}
	}
	s.found = append(s.found, c)
	return nil
}

// substitution returns the only part of a word if a shell computes it with commands, or nil.
func substitution(w *syntax.Word) *syntax.CmdSubst {
	if w == nil || len(w.Parts) != 1 {
		return nil
	}
	part := w.Parts[0]
	if quoted, ok := part.(*syntax.DblQuoted); ok && len(quoted.Parts) == 1 {
		part = quoted.Parts[0]
	}
	sub, _ := part.(*syntax.CmdSubst)
	return sub
}

// keepPrinted keeps what a command prints for the program after a pipe. It reports whether that is known.
func (s *shellReader) keepPrinted(stmt *syntax.Stmt, c Command) bool {
	text, known := c.printed(stmt.Redirs)
	if known {
		s.piped = &text
	}
	return known
}

// printed returns what echo, printf and cat print, if it is known.
func (c Command) printed(redirs []*syntax.Redirect) (text string, known bool) {
	for _, r := range redirs {
		if err := c.redirect(r); err != nil {
			return "", false
		}
	}
	args := c.Words[1:]
	for len(args) > 0 && (args[0] == "-n" || args[0] == "%s" || args[0] == "%s\n") {
		args = args[1:]
	}
	text = strings.Join(args, " ")
	switch c.Words[0] {
	case "cat":
		return c.Stdin, c.HasStdin && len(args) == 0
	case "echo":
		return text, !strings.HasPrefix(text, "-")
	case "printf": // with a format, or escapes in one, the text is another
		return text, len(args) == 1 && (len(c.Words) > 2 || !strings.ContainsAny(text, `%\`))
	}
	return "", false
}

func isCurl(word string) bool {
	base := strings.ToLower(word[strings.LastIndexAny(word, `/\`)+1:])
	return base == curlPrograms[0] || base == curlPrograms[1]
}

// redirect reads a redirection: a text that follows, or a file.
func (c *Command) redirect(r *syntax.Redirect) error {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if c.HasStdin = true; r.Hdoc == nil { // the text is empty
			return nil
		}
		text, err := c.expandDocument(r.Hdoc)
		if err != nil {
			return err
		}
		c.Stdin = text
	case syntax.WordHdoc:
		text, err := c.expand(r.Word)
		if err != nil {
			return err
		}
		c.Stdin, c.HasStdin = text+"\n", true
	case syntax.RdrIn:
		c.Dropped = append(c.Dropped, "the file of standard input")
	}
	return nil
}

// expand returns the text of a word, in which variables and what a shell computes are references.
func (c *Command) expand(w *syntax.Word) (string, error) {
	for i, part := range w.Parts {
		if text, ok := part.(*syntax.Lit); ok && strings.Contains(text.Value, `\`) { // the library keeps backslashes
			w.Parts[i] = &syntax.SglQuoted{Value: escapedByte.ReplaceAllString(text.Value, "$1")}
		}
	}
	return c.expandWith(expand.Literal, w)
}

// escapedByte matches a character that a shell reads as it is, outside of quotes.
var escapedByte = lazyregexp.New(`(?s)\\(.)`)

// expandDocument returns the text behind <<, like expand.
func (c *Command) expandDocument(w *syntax.Word) (string, error) {
	return c.expandWith(expand.Document, w)
}

func (c *Command) expandWith(read func(*expand.Config, *syntax.Word) (string, error), w *syntax.Word) (string, error) {
	c.simplify(w.Parts)
	config := &expand.Config{Env: expand.FuncEnviron(func(name string) string { return reference + name + reference })}
	text, err := read(config, w)
	if err != nil {
		return "", fmt.Errorf("a word of the command cannot be read: %w", err)
	}
	for _, name := range c.Computed { // variables cannot have such names
		text = strings.ReplaceAll(text, computedName(name), "-"+importer.Identifier(name))
	}
	return text, nil
}

// computedName returns the name of a variable for the output of a program.
func computedName(program string) string { return "hatchel_computed_" + importer.Identifier(program) }

// simplify replaces what a shell computes by variables.
func (c *Command) simplify(parts []syntax.WordPart) {
	for i, part := range parts {
		name := ""
		switch part := part.(type) {
		case *syntax.DblQuoted:
			c.simplify(part.Parts)
		case *syntax.CmdSubst:
			if text, known := c.substituted(part); known {
				parts[i] = &syntax.SglQuoted{Value: text}
				continue
			}
			name = programOf(part)
		case *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
			name = "value"
		case *syntax.ParamExp:
			if part.Param != nil && !part.Length && !part.Excl {
				parts[i] = &syntax.ParamExp{Param: part.Param}
				continue
			}
			name = "value"
		}
		if name != "" {
			c.Computed = append(c.Computed, name)
			parts[i] = &syntax.ParamExp{Param: &syntax.Lit{Value: computedName(name)}}
		}
	}
}

// substituted returns what a shell writes in place of the commands of a word, if it is known, as in $(cat <<EOF …).
func (c *Command) substituted(sub *syntax.CmdSubst) (text string, known bool) {
	if len(sub.Stmts) != 1 {
		return "", false
	}
	call, isCall := sub.Stmts[0].Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return "", false
	}
	var inner Command
	for _, w := range call.Args {
		word, err := inner.expand(w)
		if err != nil {
			return "", false
		}
		inner.Words = append(inner.Words, word)
	}
	if text, known = inner.printed(sub.Stmts[0].Redirs); known {
		c.Computed = append(c.Computed, inner.Computed...)
	}
	return strings.TrimRight(text, "\n"), known
}

// programOf returns the program of a command whose output is substituted.
func programOf(sub *syntax.CmdSubst) string {
	for _, stmt := range sub.Stmts {
		if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() != "" {
			return path.Base(call.Args[0].Lit())
		}
	}
	return "value"
}
