// Package curl generates a tool from a curl command.
package curl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"hatchel/internal/hostname"
)

// reference surrounds the name of a shell variable in a word. It cannot occur in an argument of a program.
const reference = "\x00"

// maxCommand is the maximum size of a command in bytes.
const maxCommand = 4 << 20

// Split returns the words of a command as a shell does, without running anything. A variable becomes its name between
// two reference bytes.
func Split(command string) ([]string, error) {
	if len(command) > maxCommand {
		return nil, fmt.Errorf("the command is larger than %d MiB", maxCommand>>20)
	}
	command = strings.TrimPrefix(strings.TrimSpace(command), "$ ")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil, fmt.Errorf("the command is not valid: %w", err)
	}
	errPlain := errors.New("give one plain curl command, without pipes, redirections and other commands")
	if len(file.Stmts) != 1 {
		return nil, errPlain
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 || stmt.Background || stmt.Negated {
		return nil, errPlain
	}
	config := &expand.Config{Env: expand.FuncEnviron(func(name string) string { return reference + name + reference })}
	var words []string
	for _, w := range call.Args {
		unsupported := false
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob:
				unsupported = true
			case *syntax.ParamExp:
				computed := n.Length || n.Exp != nil || n.Index != nil || n.Slice != nil || n.Repl != nil
				unsupported = unsupported || computed
			}
			return !unsupported
		})
		if unsupported {
			return nil, fmt.Errorf("a word of the command is computed by the shell; write its value or a variable")
		}
		word, err := expand.Literal(config, w)
		if err != nil {
			return nil, fmt.Errorf("a word of the command cannot be read: %w", err)
		}
		words = append(words, word)
	}
	return words, nil
}

// request is what a command sends.
type request struct {
	method  string
	url     *url.URL
	headers [][2]string
	user    string // user:password
	data    []string
	isJSON  bool // --json
	files   bool // some data is read from a file
	form    [][2]string
	inQuery bool // -G
	timeout string
	ignored []string // options without a counterpart that change the request
}

// options are the options of curl that matter: those with a value are true.
var options = map[string]bool{
	"request": true, "header": true, "data": true, "data-ascii": true, "data-raw": true, "data-binary": true,
	"data-urlencode": true, "json": true, "form": true, "form-string": true, "user": true, "get": false, "head": false,
	"user-agent": true, "referer": true, "cookie": true, "url": true, "url-query": true, "oauth2-bearer": true,
	"max-time": true,
}

// printing are the options that change only what curl prints or how it connects, and that need no report.
var printing = map[string]bool{
	"silent": false, "show-error": false, "verbose": false, "include": false, "output": true, "remote-name": false,
	"fail": false, "fail-with-body": false, "compressed": false, "location": false, "write-out": true, "globoff": false,
	"no-progress-meter": false, "progress-bar": false, "dump-header": true, "http1.1": false, "http2": false,
	"ipv4": false, "ipv6": false, "no-buffer": false, "basic": false, "path-as-is": false, "trace": true,
	"trace-ascii": true,
}

// reported are the options without a counterpart.
var reported = map[string]bool{
	"insecure": false, "cacert": true, "cert": true, "key": true, "proxy": true, "connect-timeout": true,
	"resolve": true, "retry": true, "digest": false, "ntlm": false, "negotiate": false, "cookie-jar": true,
	"upload-file": true,
	"range":       true, "limit-rate": true, "aws-sigv4": true,
	"interface": true, "unix-socket": true, "connect-to": true,
	"max-redirs": true, "retry-delay": true, "retry-max-time": true, "proxy-user": true, "noproxy": true,
	"location-trusted": false,
}

// letters are the short options.
var letters = map[byte]string{
	'X': "request", 'H': "header", 'd': "data", 'F': "form", 'u': "user", 'G': "get", 'I': "head", 'A': "user-agent",
	'e': "referer", 'b': "cookie", 'm': "max-time", 's': "silent", 'S': "show-error", 'v': "verbose", 'i': "include",
	'o': "output", 'O': "remote-name", 'f': "fail", 'L': "location", 'w': "write-out", 'g': "globoff",
	'#': "progress-bar", 'D': "dump-header", 'N': "no-buffer", 'k': "insecure", 'E': "cert", 'x': "proxy",
	'c': "cookie-jar",
	'T': "upload-file", 'r': "range", '4': "ipv4", '6': "ipv6", 'U': "proxy-user",
}

// parse reads the words of a command.
func parse(words []string) (*request, error) {
	if len(words) > 0 && (words[0] == "curl" || strings.HasSuffix(words[0], "/curl")) {
		words = words[1:]
	}
	r := new(request)
	var target string
	for i := 0; i < len(words); i++ {
		word := words[i]
		var name, value string
		attached := false
		switch {
		case strings.HasPrefix(word, "--") && len(word) > 2:
			name, value, attached = strings.Cut(word[2:], "=")
		case strings.HasPrefix(word, "-") && len(word) > 1:
			name = letters[word[1]]
			if rest := word[2:]; rest != "" {
				if takes, _ := takesValue(name); takes {
					value, attached = rest, true
				} else {
					words[i] = "-" + rest // several letters in one word
					i--
				}
			}
		case target != "" && target == words[0] && !strings.ContainsAny(target, ".:/"):
			return nil, fmt.Errorf("the command is %s; give a curl command", target)
		case target != "":
			return nil, errors.New("the command has several URLs; import each alone")
		default:
			target = word
			continue
		}
		takes, known := takesValue(name)
		if !known {
			return nil, fmt.Errorf("the option %s of curl is not known here; remove it", word)
		}
		if takes && !attached {
			if i++; i == len(words) {
				return nil, fmt.Errorf("the option %s requires a value", word)
			}
			value = words[i]
		}
		if name == "url" {
			target = value
		} else if err := r.set(name, value); err != nil {
			return nil, err
		}
	}
	if target == "" {
		return nil, errors.New("the command has no URL")
	}
	return r, r.setURL(target)
}

func takesValue(name string) (takes, known bool) {
	for _, table := range []map[string]bool{options, printing, reported} {
		if takes, known = table[name]; known {
			return takes, true
		}
	}
	return false, false
}

// set applies one option.
func (r *request) set(name, value string) error {
	switch name {
	case "request":
		r.method = strings.ToUpper(value)
	case "header":
		return r.addHeader(value)
	case "user-agent", "referer", "cookie":
		header := map[string]string{"user-agent": "User-Agent", "referer": "Referer", "cookie": "Cookie"}[name]
		r.headers = append(r.headers, [2]string{header, value})
	case "oauth2-bearer":
		r.headers = append(r.headers, [2]string{"Authorization", "Bearer " + value})
	case "user":
		r.user = value
	case "json":
		r.isJSON = true
		r.addData(value)
	case "data", "data-ascii", "data-binary":
		r.addData(value)
	case "data-raw":
		r.data = append(r.data, value)
	case "data-urlencode":
		key, text, ok := strings.Cut(value, "=")
		if !ok {
			key, text = "", value
		}
		r.data = append(r.data, strings.TrimPrefix(url.QueryEscape(key)+"="+escape(text), "="))
	case "url-query":
		r.ignored = append(r.ignored, "--url-query")
	case "form", "form-string":
		key, text, ok := strings.Cut(value, "=")
		if !ok {
			return fmt.Errorf("a part of the form has no name: write -F name=value")
		}
		if name == "form-string" {
			text = " " + text // no @ or < of a file
		}
		r.form = append(r.form, [2]string{key, text})
	case "get":
		r.inQuery = true
	case "head":
		r.method = "HEAD"
	case "max-time":
		r.timeout = value
	default:
		if _, report := reported[name]; report {
			r.ignored = append(r.ignored, "--"+name)
		}
	}
	return nil
}

// escape escapes a value of a form, except references to shell variables.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "%00", reference)
}

func (r *request) addHeader(value string) error {
	name, text, ok := strings.Cut(value, ":")
	if !ok || strings.HasPrefix(value, "@") {
		if strings.HasSuffix(value, ";") || strings.HasPrefix(value, "@") {
			r.ignored = append(r.ignored, "an empty header or a file of headers")
			return nil
		}
		return errors.New("a header has no value: write -H 'Name: value'")
	}
	if strings.ContainsAny(strings.TrimSpace(value), "\r\n") {
		return errors.New("a header has a line break: write one -H for each header")
	}
	r.headers = append(r.headers, [2]string{strings.TrimSpace(name), strings.TrimSpace(text)})
	return nil
}

func (r *request) addData(value string) {
	if strings.HasPrefix(value, "@") {
		r.files = true
		return
	}
	r.data = append(r.data, value)
}

func (r *request) setURL(target string) error {
	if !strings.Contains(target, "://") {
		target = "https://" + target
	}
	u, problem := hostname.ParseURL(strings.ReplaceAll(target, reference, "__hatchel__"),
		hostname.User|hostname.Query|hostname.Fragment)
	switch {
	case problem != "":
		return fmt.Errorf("the URL of the command cannot be imported: %s", problem)
	case strings.Contains(u.Host, "__hatchel__"):
		return errors.New("the host of the URL is a variable of the shell; write the host")
	}
	u.Path = strings.ReplaceAll(u.Path, "__hatchel__", reference)
	u.RawQuery = strings.ReplaceAll(u.RawQuery, "__hatchel__", reference)
	if u.User != nil && r.user == "" {
		r.user = strings.ReplaceAll(u.User.String(), "__hatchel__", reference)
		if name := u.User.Username(); name != "" {
			password, _ := u.User.Password()
			r.user = strings.ReplaceAll(name+":"+password, "__hatchel__", reference)
		}
	}
	if r.inQuery && len(r.data) > 0 {
		u.RawQuery = strings.Trim(u.RawQuery+"&"+strings.Join(r.data, "&"), "&")
		r.data = nil
	}
	if r.url = u; r.method == "" {
		r.method = "GET"
		if len(r.data) > 0 || len(r.form) > 0 || r.files {
			r.method = "POST"
		}
	}
	switch r.method {
	case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD":
		return nil
	}
	return fmt.Errorf("the method %s cannot be imported: a tool sends GET, POST, PUT, PATCH, DELETE or HEAD", r.method)
}

// basicOf returns user:password of a header Authorization: Basic, or "".
func basicOf(value string) string {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return ""
	}
	return string(plain)
}
