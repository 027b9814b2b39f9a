// Package curl generates a tool from a curl command.
package curl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
)

// request is what a command sends.
type request struct {
	method  string
	url     *url.URL
	headers [][2]string
	removed []string // headers that the command does not send: -H 'Name:'
	user    string   // user:password
	asked   bool     // curl asks for the password
	data    []string
	isJSON  bool     // --json
	files   []string // from which data is read
	form    [][2]string
	inQuery bool // -G
	timeout string
	output  string // file of the response
	agent   string // -A, which a header of -H replaces
	referer string // -e, likewise
	losses  []loss

	stdin    string
	hasStdin bool

	target     string
	scheme     string // of a target without one
	head, glob bool
	pathAsIs   bool
	upload     bool // -T
	isBinary   bool // --data-binary
	follows    bool // -L
	otherAuth  bool // a way to authenticate that no connection has

	computed []string // programs whose output is part of a word
	server   *server  // of a URL whose host is a variable
}

// loss is something of the command that the tool does not have.
type loss struct{ kind, detail string }

func (r *request) lose(kind, detail string) { r.losses = append(r.losses, loss{kind, detail}) }

// parse reads a command.
func parse(c Command) (*request, error) {
	words := c.Words
	r := &request{glob: true, scheme: "http", stdin: c.Stdin, hasStdin: c.HasStdin, computed: c.Computed}
	for _, d := range c.Dropped {
		r.lose("part left out", d+" is no part of a request")
	}
	for _, program := range c.Computed {
		r.lose("computed value", "a shell computes it with "+program+": set what has its place")
	}
	if len(words) > 0 && isCurl(words[0]) {
		words = words[1:]
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		var name, value string
		attached := false
		switch {
		case strings.HasPrefix(word, "--") && len(word) > 2:
			name = word[2:]
		case strings.HasPrefix(word, "-") && len(word) > 1:
			name = letters[word[1]]
			if rest := word[2:]; rest != "" {
				if o, _ := findOption(name); o.takesValue {
					value, attached = rest, true
				} else {
					words[i] = "-" + rest // several letters in one word
					i--
				}
			}
		case r.target != "" && r.target == words[0] && !strings.ContainsAny(r.target, ".:/"+reference):
			return nil, fmt.Errorf("the command is %s; give a curl command", r.target)
		default:
			if err := r.setTarget(word); err != nil {
				return nil, err
			}
			continue
		}
		o, known := findOption(name)
		if before, after, found := strings.Cut(name, "="); !known && found { // which curl does not accept
			if o, known = findOption(before); known && o.takesValue {
				name, value, attached = before, after, true
			}
		}
		if !known {
			return nil, fmt.Errorf("the option %s of curl is not known here; remove it", word)
		}
		if o.takesValue && !attached {
			if i++; i == len(words) {
				return nil, fmt.Errorf("the option %s requires a value", word)
			}
			value = words[i]
		}
		if o.advice != "" {
			r.lose("option left out", "--"+name+" has no counterpart in a tool: "+o.advice)
		}
		if err := r.set(name, value); err != nil {
			return nil, err
		}
	}
	if r.target == "" {
		return nil, errors.New("the command has no URL")
	}
	for _, option := range [][2]string{{"User-Agent", r.agent}, {"Referer", r.referer}} {
		if option[1] != "" && !r.sets(option[0]) {
			r.headers = append(r.headers, [2]string{option[0], replacePlaceholders(option[1])})
		}
	}
	return r, r.finish()
}

// sets reports whether -H sets or removes a header.
func (r *request) sets(name string) bool {
	return slices.Contains(r.removed, strings.ToLower(name)) ||
		slices.ContainsFunc(r.headers, func(h [2]string) bool { return strings.EqualFold(h[0], name) })
}

func (r *request) setTarget(target string) error {
	if r.target != "" {
		return errors.New("the command has several URLs; import each alone")
	}
	r.target = target
	return nil
}

// set applies one option.
func (r *request) set(name, value string) error {
	switch name {
	case "url":
		return r.setTarget(value)
	case "request":
		if r.method = strings.ToUpper(value); r.method != value {
			r.lose("method", "curl sends "+value+" as it is written, and the tool sends "+r.method)
		}
	case "header":
		return r.addHeader(value)
	case "user-agent":
		r.agent = value
	case "referer":
		r.referer = strings.TrimSuffix(value, ";auto")
	case "cookie":
		if !strings.Contains(value, "=") && !strings.Contains(value, reference) {
			r.lose("file of the command", "the cookies of a file are not sent")
			return nil
		}
		r.headers = append(r.headers, [2]string{"Cookie", replacePlaceholders(value)})
	case "oauth2-bearer":
		r.headers = append(r.headers, [2]string{"Authorization", "Bearer " + replacePlaceholders(value)})
	case "user":
		r.user = replacePlaceholders(value)
		if r.asked = !strings.Contains(value, ":"); r.asked {
			r.user += ":"
		}
	case "json":
		r.isJSON = true
		return r.addData(value)
	case "data", "data-ascii":
		return r.addData(value)
	case "data-binary":
		r.isBinary = true
		return r.addData(value)
	case "data-raw":
		r.data = append(r.data, value)
	case "data-urlencode":
		return r.addEncoded(value)
	case "url-query":
		if text, raw := strings.CutPrefix(value, "+"); raw {
			r.addQuery(text)
			return nil
		}
		encoded, file := r.encode(value)
		if file != "" {
			return errors.New("--url-query reads a file; write the parameter")
		}
		r.addQuery(encoded)
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
		r.head = true
	case "upload-file":
		r.upload = true
		r.files = append(r.files, value)
	case "max-time":
		r.timeout = value
	case "output":
		r.output = value
	case "proto-default":
		r.scheme = value
	case "path-as-is":
		r.pathAsIs = true
	case "globoff":
		r.glob = false
	case "location", "location-trusted":
		r.follows = true
	case "digest", "ntlm", "ntlm-wb", "negotiate", "aws-sigv4":
		r.otherAuth = true
	case "next":
		return errors.New("the command sends several requests (--next); import each alone")
	case "config":
		return errors.New("the command reads options from a file (--config); write them in the command")
	}
	return nil
}

// addQuery adds a parameter to the query.
func (r *request) addQuery(parameter string) {
	separator := "?"
	if strings.Contains(r.target, "?") {
		separator = "&"
	}
	if r.target == "" {
		r.data, r.inQuery = append(r.data, parameter), true
		return
	}
	r.target += separator + parameter
}

// addEncoded adds data of --data-urlencode: content, =content, name=content, @file or name@file.
func (r *request) addEncoded(value string) error {
	encoded, file := r.encode(value)
	if file != "" {
		if r.inQuery {
			return errors.New("--data-urlencode reads a file; write the parameter")
		}
		r.files = append(r.files, file)
		return nil
	}
	r.data = append(r.data, encoded)
	return nil
}

// encode encodes a value as --data-urlencode does, or returns the file that it names. The content of a file with a name
// before it is an input.
func (r *request) encode(value string) (encoded, file string) {
	at := strings.IndexAny(value, "=@")
	switch {
	case at < 0:
		return escape(value), ""
	case value[at] == '@' && at > 0:
		r.lose("file of the command", value[:at]+" is an input, because the command reads it from a file of this "+
			"machine")
		return value[:at] + "=" + placeholder(value[:at]), ""
	case value[at] == '@':
		return "", value[1:]
	case at == 0:
		return escape(value[1:]), ""
	}
	return value[:at+1] + escape(value[at+1:]), ""
}

// escape escapes a value of a form, except references to variables.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "%00", reference)
}

func (r *request) addHeader(value string) error {
	name, text, ok := strings.Cut(value, ":")
	empty := strings.TrimSuffix(strings.TrimSpace(value), ";")
	switch {
	case strings.HasPrefix(value, "@"):
		r.lose("file of the command", "the headers of a file are not sent")
		return nil
	case strings.ContainsAny(strings.TrimSpace(value), "\r\n"):
		return errors.New("a header has a line break: write one -H for each header")
	case !ok && empty != strings.TrimSpace(value):
		r.headers = append(r.headers, [2]string{empty, ""})
		return nil
	case !ok:
		return errors.New("a header has no value: write -H 'Name: value'")
	case strings.TrimSpace(text) == "":
		r.removed = append(r.removed, strings.ToLower(strings.TrimSpace(name)))
		return nil
	}
	r.headers = append(r.headers, [2]string{strings.TrimSpace(name), replacePlaceholders(strings.TrimSpace(text))})
	return nil
}

func (r *request) addData(value string) error {
	file, isFile := strings.CutPrefix(value, "@")
	switch {
	case isFile && file == "-" && r.hasStdin && (r.isBinary || r.isJSON):
		r.data = append(r.data, r.stdin)
	case isFile && file == "-" && r.hasStdin:
		r.data = append(r.data, strings.NewReplacer("\r", "", "\n", "").Replace(r.stdin))
	case isFile && r.inQuery:
		return errors.New("-G -d @… reads parameters from a file; write them")
	case isFile:
		r.files = append(r.files, file)
	default:
		r.data = append(r.data, value)
	}
	return nil
}

// mark replaces reference in a URL and in JSON.
const mark = "__hatchel__"

var (
	braces    = lazyregexp.New(`\{\{\s*\$?([A-Za-z_][A-Za-z0-9_. -]*?)\s*\}\}`)
	brackets  = lazyregexp.New(`<([A-Za-z][A-Za-z0-9 _.-]{0,60})>`)
	inPath    = lazyregexp.New(`\{([A-Za-z_][A-Za-z0-9_.-]*)\}|\[([A-Za-z_][A-Za-z0-9_.-]*)\]`)
	colonWord = lazyregexp.New(`/:([A-Za-z_][A-Za-z0-9_]*)`)
	globbed   = lazyregexp.New(`\{[^{}]*,[^{}]*\}|\[[0-9a-zA-Z]+-[0-9a-zA-Z]+(?::[0-9]+)?\]`)
	oneSlash  = lazyregexp.New(`^(?i:(https?)):/{1,3}`) // curl accepts one slash and three
)

// replacePlaceholders replaces {{name}} and <name>, which documentation writes for values, by references.
func replacePlaceholders(text string) string {
	for _, re := range []*lazyregexp.Regexp{braces, brackets} {
		text = re.ReplaceAllStringFunc(text, func(m string) string { return placeholder(re.FindStringSubmatch(m)[1]) })
	}
	return text
}

// placeholder returns the reference to a value that has no variable.
func placeholder(name string) string { return reference + "-" + importer.Identifier(name) + reference }

// replacePathPlaceholders replaces the placeholders that only the path of a URL has: {name}, [name] and /:name.
func replacePathPlaceholders(target string) string {
	before, after := target, ""
	if at := strings.IndexAny(target, "?#"); at >= 0 {
		before, after = target[:at], target[at:]
	}
	start := strings.Index(before, "://") + 1
	path := strings.IndexByte(before[start+2*min(start, 1):], '/')
	if path < 0 {
		return target
	}
	path += start + 2*min(start, 1)
	text := inPath.ReplaceAllStringFunc(before[path:], func(m string) string { return placeholder(m[1 : len(m)-1]) })
	text = colonWord.ReplaceAllStringFunc(text, func(m string) string { return "/" + placeholder(m[2:]) })
	return before[:path] + text + after
}

// finish reads the URL, once all options are known.
func (r *request) finish() error {
	target := oneSlash.ReplaceAllString(replacePlaceholders(r.target), "$1://")
	if r.glob && globbed.MatchString(strings.TrimPrefix(target, "http://[")) && !strings.Contains(target, "://[") {
		return errors.New("the URL has a list {a,b} or a range [1-9], for which curl sends several requests; " +
			"import one of them")
	}
	target = strings.ReplaceAll(replacePathPlaceholders(target), reference, mark)
	target, err := r.readServer(target)
	if err != nil {
		return err
	}
	hasScheme := strings.Contains(strings.SplitN(target, "?", 2)[0], "://")
	if !hasScheme {
		target = r.scheme + "://" + target
	}
	u, problem := hostname.ParseURL(strings.ReplaceAll(target, " ", "%20"),
		hostname.User|hostname.Query|hostname.Fragment)
	switch {
	case problem != "":
		return fmt.Errorf("the URL of the command cannot be imported: %s", problem)
	case r.server != nil:
	case !hasScheme && hostname.IsReadable(u):
		r.lose("no scheme", "curl sends http to an address without a scheme: write https in base_url if the service "+
			"has it")
	}
	if u.User != nil && r.user == "" {
		password, _ := u.User.Password()
		r.user = strings.ReplaceAll(u.User.Username()+":"+password, mark, reference)
	}
	if r.inQuery && len(r.data) > 0 {
		u.RawQuery = strings.Trim(u.RawQuery+"&"+strings.Join(r.data, "&"), "&")
		r.data = nil
	}
	if r.upload && len(r.files) > 0 && strings.HasSuffix(u.Path, "/") {
		u = u.JoinPath(path.Base(strings.ReplaceAll(r.files[0], `\`, "/")))
	}
	r.url = u
	if err := r.resolveDots(); err != nil {
		return err
	}
	if path := r.url.EscapedPath(); strings.HasPrefix(path, "//") {
		r.lose("path", "it begins with several slashes: the tool sends one slash")
		clean := "/" + strings.TrimLeft(path, "/")
		r.url.Path, r.url.RawPath = pathText(clean), clean
	}
	if r.follows {
		r.lose("redirects", "--location follows redirects to every host, and repeats a POST as a GET; a tool follows "+
			"those of a GET on its host")
	}
	return r.chooseMethod()
}

func (r *request) chooseMethod() error {
	switch {
	case r.method != "":
	case r.head:
		r.method = "HEAD"
	case r.upload:
		r.method = "PUT"
	case len(r.data) > 0 || len(r.form) > 0 || len(r.files) > 0:
		r.method = "POST"
	default:
		r.method = "GET"
	}
	if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}, r.method) {
		return fmt.Errorf("the method %.20s cannot be imported: a tool sends GET, POST, PUT, PATCH, DELETE or HEAD",
			r.method)
	}
	return nil
}

// resolveDots removes the segments . and .. from the path, as curl does.
func (r *request) resolveDots() error {
	escaped := r.url.EscapedPath()
	segments := strings.Split(escaped, "/")
	isDots := func(s string) bool {
		s = strings.ReplaceAll(strings.ToLower(s), "%2e", ".")
		return s == "." || s == ".."
	}
	if !slices.ContainsFunc(segments, isDots) {
		return nil
	}
	if r.pathAsIs {
		return errors.New("the path has the segment . or .., which --path-as-is sends: a tool cannot; " +
			"write the path that the service reads")
	}
	var kept []string
	for i, s := range segments {
		switch dots := strings.ReplaceAll(strings.ToLower(s), "%2e", "."); {
		case dots != "." && dots != "..":
			kept = append(kept, s)
			continue
		case dots == ".." && len(kept) > 1:
			kept = kept[:len(kept)-1]
		}
		if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	clean := strings.Join(kept, "/")
	plain, err := url.PathUnescape(clean)
	if err != nil {
		return errors.New("the path of the URL cannot be read")
	}
	r.url.Path, r.url.RawPath = plain, clean
	return nil
}

// basicOf returns user:password of a header Authorization: Basic, or "".
func basicOf(value string) string {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil || !strings.Contains(string(plain), ":") {
		return ""
	}
	return string(plain)
}
