package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hatchel/adapters/scrub"
	"hatchel/hcl"
	"hatchel/hcl/jsonscan"
	"hatchel/hcl/schema"
	"hatchel/hcl/value"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/printable"
	"hatchel/runtime/call"
	"hatchel/runtime/edge/mcp"
	output "hatchel/runtime/stage/result"
)

// Endpoint says how clients reach the server.
type Endpoint struct {
	URL        string // of the MCP endpoint; empty for a server that speaks over standard input and output
	Entry      string // in the configuration of a client, as JSON
	Credential Credential
	Dir        string // of the configuration, without a URL; empty for one of a repository
}

// Credential is what proves who makes the requests of clients; empty for nothing.
type Credential string

// Credentials.
const (
	Key         Credential = "key"         // of the API, in the configuration of the client
	Token       Credential = "token"       // of an issuer, which the client asks for it
	SignedIn    Credential = "sign-in"     // a token of this server, for which the client has a person sign in
	Certificate Credential = "certificate" // of the client, in TLS
)

// credentialNotes say what each command needs.
var credentialNotes = map[Credential]struct{ call, curl, client string }{
	Key: {"The variable HATCHEL_KEY has your key.", "The variable HATCHEL_KEY has your key.",
		" Cursor writes ${env:HATCHEL_KEY} in .cursor/mcp.json."},
	Token: {"The variable HATCHEL_KEY has your token.", "The variable HATCHEL_KEY has your token.",
		" The client gets a token where those of this server are issued."},
	SignedIn: {"You sign in by a browser, unless the variable HATCHEL_KEY has an API key.",
		"The variable HATCHEL_KEY has an API key, or an access token that a client got when somebody signed in. " +
			"Such a token is valid for a few minutes.",
		" The client has you sign in by a browser."},
	Certificate: {"", "The files are your client certificate and its key.", " The client must send your certificate."},
}

// command is a call in another form, to be copied. It has no sensitive values.
type command struct {
	ID, Label, Text, Note string
}

// addCommands adds what makes the call of the form elsewhere. It adds nothing for a tool that clients do not reach, and
// for arguments that are not JSON.
func (c *Console) addCommands(q *request, d *tryData, p *call.Program) {
	e := c.Endpoint(q.Request, p.Tool())
	if d.Unreached = e == nil; d.Unreached {
		return
	}
	arguments, ok := copiedArguments(d.enteredArguments(), p.Tool().Input)
	if !ok {
		return
	}
	d.Commands = e.commands(p, arguments)
}

// commands returns what makes a call. The command hatchel sends no certificate and reads no repository.
func (e *Endpoint) commands(p *call.Program, arguments json.RawMessage) (all []command) {
	notes := credentialNotes[e.Credential]
	if e.URL == "" {
		notes.call = "Add the flags of this server, such as --var and --claim."
		notes.client = " " + notes.call
	}
	isLong := sizeInPage(string(arguments)) > maxCopied
	if e.URL+e.Dir != "" && e.Credential != Certificate {
		if isLong {
			arguments = nil
			notes.call = "The arguments are too long for a command line: the file has them as a JSON object. " +
				notes.call
		}
		all = append(all, command{"copy-call", "Command", e.callCommand(p.Tool(), arguments), notes.call})
	}
	if e.URL != "" && !isLong {
		all = append(all, command{"copy-curl", "curl", e.curlCommand(p, arguments), notes.curl})
	}
	return append(all, command{
		"copy-client", "Configuration of a client", e.Entry, "For .mcp.json of Claude Code." + notes.client,
	})
}

// copiedArguments returns arguments as they may be copied: with <NAME> in place of each sensitive value, and of each
// required one that is missing.
func copiedArguments(entered []byte, input *schema.Type) (json.RawMessage, bool) {
	v, err := value.Decode(entered)
	if _, isObject := v.(map[string]any); err != nil || !isObject {
		return nil, false
	}
	sensitive := scrub.New(output.SensitiveTexts(nil, v, input, false)) // which other inputs may repeat
	return sensitive.JSON(appendCopied(nil, entered, input, "input")), true
}

func appendCopied(dst []byte, text json.RawMessage, t *schema.Type, name string) []byte {
	text = bytes.TrimSpace(text)
	if t != nil {
		t = t.Unfolded()
	}
	if t != nil && t.Sensitive {
		return value.AppendString(dst, "<"+name+">")
	}
	switch text[0] {
	case '{':
		return appendCopiedObject(dst, text, t)
	case '[':
		var elements []json.RawMessage
		if json.Unmarshal(text, &elements) != nil {
			return append(dst, "null"...)
		}
		dst = append(dst, '[')
		for i, e := range elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			var elem *schema.Type
			if t != nil {
				elem = t.Elem
			}
			dst = appendCopied(dst, e, elem, name)
		}
		return append(dst, ']')
	}
	return append(dst, text...)
}

func appendCopiedObject(dst []byte, text json.RawMessage, t *schema.Type) []byte {
	names, values, _ := members(text)
	given := map[string]bool{}
	begin := len(dst)
	add := func(name string) {
		dst = append(dst, ',')
		dst = append(value.AppendString(dst, name), ':')
	}
	for i, name := range names {
		given[name] = true
		add(name)
		var member *schema.Type
		if t != nil {
			member = output.MemberType(t, name)
		}
		dst = appendCopied(dst, values[i], member, name)
	}
	if t != nil && t.Kind == schema.Object {
		for _, m := range t.Members {
			if !m.Optional && !given[m.Name] {
				add(m.Name)
				dst = value.AppendString(dst, "<"+m.Name+">")
			}
		}
	}
	if len(dst) == begin {
		return append(dst, "{}"...)
	}
	dst[begin] = '{'
	return append(dst, '}')
}

// callCommand returns the command that makes a call. Without arguments they are in a file.
func (e *Endpoint) callCommand(t *hcl.Tool, arguments json.RawMessage) string {
	words := []string{"hatchel call", "--server " + shellWord(strings.TrimSuffix(e.URL, "/mcp")), t.Name}
	if e.URL == "" {
		words[1] = "-C " + shellWord(e.Dir)
	}
	pairs, ok := argumentPairs(t.Input, arguments)
	switch {
	case arguments == nil:
		words = append(words, "- < arguments.json")
	case ok:
		words = append(words, pairs...)
	default:
		words = append(words, shellWord(string(printable.EscapeJSON(arguments))))
	}
	if line := strings.Join(words, " "); len(line) <= maxLine {
		return line
	}
	return strings.Join(words, " \\\n  ")
}

var plainName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// argumentPairs returns arguments as NAME=VALUE. It reports false for those that only a JSON object can express: the
// command reads a value for a text as it is, and any other one as JSON.
func argumentPairs(input *schema.Type, arguments json.RawMessage) (pairs []string, ok bool) {
	names, values, _ := members(arguments)
	for i, name := range names {
		m, known := input.Lookup(name)
		if !known || !plainName.MatchString(name) {
			return nil, false
		}
		t := m.Type.Unfolded()
		isText, text := t.Kind == schema.String && t.OneOf == nil, string(values[i])
		var decoded string
		isString := json.Unmarshal(values[i], &decoded) == nil && text != "null"
		switch {
		case isText != isString && !(isString && strings.HasPrefix(decoded, "<")), text == "null":
			return nil, false
		case isString && strings.ContainsFunc(decoded, func(r rune) bool { return r != '\n' && !printable.Is(r) }):
			return nil, false
		case isString:
			text = decoded
		default:
			text = string(printable.EscapeJSON(values[i]))
		}
		pairs = append(pairs, name+"="+shellWord(text))
	}
	return pairs, true
}

var plainWord = lazyregexp.New(`^[A-Za-z0-9_@%+=:,./-]*$`)

// shellWord quotes a text for a shell, unless it needs no quotes.
func shellWord(text string) string {
	if text != "" && plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// curlCommand returns the request of a call as a command.
func (e *Endpoint) curlCommand(p *call.Program, arguments json.RawMessage) string {
	t := p.Tool()
	var out strings.Builder
	header := func(name, text string) {
		line := name + ": " + text
		if text == "" {
			line = name + ";" // curl sends no header without a text otherwise
		}
		out.WriteString(" \\\n  -H " + shellWord(line))
	}
	out.WriteString("curl -sS " + shellWord(e.URL))
	header("Content-Type", "application/json")
	header("Accept", "application/json, text/event-stream")
	switch e.Credential {
	case "":
	case Certificate:
		out.WriteString(" \\\n  --cert client.pem --key client.key")
	default:
		out.WriteString(" \\\n  -H \"Authorization: Bearer $HATCHEL_KEY\"")
	}
	header(mcp.HeaderVersion, string(mcp.Revision20260728))
	header("Mcp-Method", "tools/call")
	header("Mcp-Name", t.Name)
	for _, in := range p.HeaderInputs() {
		if name, text, ok := in.Repeat(arguments); ok {
			header(name, text)
		}
	}
	capabilities := "{}"
	if t.Task != nil && t.Task.Required {
		capabilities = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s,"arguments":%s,"_meta":`+
		`{"io.modelcontextprotocol/protocolVersion":"%s","io.modelcontextprotocol/clientCapabilities":%s}}}`,
		jsonscan.AppendString(nil, t.Name), arguments, mcp.Revision20260728, capabilities)
	out.WriteString(" \\\n  -d " + shellWord(string(printable.EscapeJSON([]byte(indentJSON([]byte(body)))))))
	return out.String()
}
