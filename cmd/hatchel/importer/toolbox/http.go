package toolbox

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
	"hatchel/internal/hostname"
	"hatchel/internal/lazyregexp"
	"hatchel/internal/yamlfile"
)

// httpSource is a source of the kind http.
type httpSource struct {
	BaseURL                string            `yaml:"baseUrl"`
	Headers                map[string]string `yaml:"headers"`
	QueryParams            map[string]string `yaml:"queryParams"`
	Timeout                string            `yaml:"timeout"`
	DisableSSLVerification bool              `yaml:"disableSslVerification"`
}

// readHTTP reads the connection of a source.
func (g *generator) readHTTP(s *source, i item) error {
	var h httpSource
	if err := yamlfile.Decode(i.node, &h); err != nil {
		return errors.New("it cannot be read")
	}
	base := reference.FindStringSubmatch(h.BaseURL)
	switch _, problem := hostname.ParseURL(h.BaseURL, hostname.Query|hostname.Fragment); {
	case base != nil:
		s.address = "base_url = " + g.variable(base) + "\n"
	case problem != "":
		return errors.New("its baseUrl is no URL that can be written, or it has a credential")
	default:
		s.address = "base_url = " + importer.Quote(strings.TrimRight(h.BaseURL, "/")) + "\n"
	}
	if entries := g.headerEntries(s, i, h.Headers); entries != nil {
		s.address += "headers = { " + strings.Join(entries, ", ") + " }\n"
	}
	var query []string
	for _, name := range sortedKeys(h.QueryParams) {
		query = append(query, importer.Key(name)+" = "+g.constant(s, i, name, h.QueryParams[name]))
	}
	if query != nil {
		s.address += "auth {\nquery = { " + strings.Join(query, ", ") + " }\n}\n"
	}
	if d, err := time.ParseDuration(h.Timeout); err == nil && d >= time.Second {
		s.address += fmt.Sprintf("timeout = \"%ds\"\n", int(d.Seconds()))
	}
	if h.DisableSSLVerification {
		g.lose(i.name, "disableSslVerification left out", "name the authority in ca_file of the connection", i.line)
	}
	return nil
}

func sortedKeys(m map[string]string) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// headerEntries writes constant headers. Those that the http block sends itself are left out.
func (g *generator) headerEntries(s *source, i item, headers map[string]string) (entries []string) {
	for _, name := range sortedKeys(headers) {
		if strings.EqualFold(name, "Content-Type") && strings.HasPrefix(headers[name], "application/json") {
			continue
		}
		entries = append(entries, importer.Key(name)+" = "+g.constant(s, i, name, headers[name]))
	}
	return entries
}

var authScheme = lazyregexp.New(`^(Bearer|Basic|Token|Digest|ApiKey) +(\S.*)$`)

// constant returns a header or a parameter of every request. References are variables, or secrets where the name is
// that of a credential; the value of a credential is not written.
func (g *generator) constant(s *source, i item, name, text string) string {
	isSecret := credential.MayBeName(name) || importer.ContainsCredential(text)
	if isSecret && !references.MatchString(text) {
		g.lose(i.name, "credential", "the value of "+name+" is a secret now; it was not written", i.line)
		ref := g.secret(s.connection+"_"+importer.Identifier(name), "")
		if m := authScheme.FindStringSubmatch(text); m != nil {
			return `"` + m[1] + " ${" + ref + `}"`
		}
		return ref
	}
	out, at := "", 0
	for _, m := range references.FindAllStringSubmatchIndex(text, -1) {
		found := text[m[0]:m[1]]
		ref := ""
		if parts := reference.FindStringSubmatch(found); isSecret || credential.MayBeName(parts[1]) {
			ref = g.secret(strings.ToLower(parts[1]), found)
		} else {
			ref = g.variable(parts)
		}
		if m[0] == 0 && m[1] == len(text) {
			return ref
		}
		out += quoteInner(text[at:m[0]]) + "${" + ref + "}"
		at = m[1]
	}
	return `"` + out + quoteInner(text[at:]) + `"`
}

// httpTool is a tool of the kind http.
type httpTool struct {
	Method, Path string
	Headers      map[string]string
	RequestBody  string      `yaml:"requestBody"`
	PathParams   []parameter `yaml:"pathParams"`
	QueryParams  []parameter `yaml:"queryParams"`
	BodyParams   []parameter `yaml:"bodyParams"`
	HeaderParams []parameter `yaml:"headerParams"`
}

// httpText returns the inputs and the http block of a tool.
func (g *generator) httpText(s *source, i item) (string, error) {
	var h httpTool
	if err := yamlfile.Decode(i.node, &h); err != nil {
		return "", errors.New("it cannot be read")
	}
	method := strings.ToLower(h.Method)
	if !slices.Contains([]string{"get", "post", "put", "patch", "delete", "head"}, method) {
		return "", fmt.Errorf("the method %q has no counterpart", h.Method)
	}
	r := &httpRequest{inputs: map[string]string{}, params: map[string]parameter{}, used: map[string]bool{}}
	all := slices.Concat(h.PathParams, h.QueryParams, h.BodyParams, h.HeaderParams)
	names := importer.Names{}
	for _, p := range all {
		if r.inputs[p.Name] != "" {
			return "", fmt.Errorf("parameter %s is declared twice", p.Name)
		}
		name := p.Name
		if !claimName.MatchString(name) {
			name = importer.Identifier(name)
			g.lose(i.name, "parameter renamed", p.Name+" is "+name, i.line)
		}
		r.inputs[p.Name], r.params[p.Name] = names.Take(name, 60), p
	}
	path, query, err := r.path(h.Path)
	if err != nil {
		return "", err
	}
	for _, p := range h.QueryParams {
		query = append(query, importer.Key(p.Name)+" = "+r.value(p))
	}
	headers := g.headerEntries(s, i, h.Headers)
	for _, p := range h.HeaderParams {
		headers = append(headers, importer.Key(p.Name)+" = "+r.value(p))
	}
	body, err := r.body(h.RequestBody, h.Headers)
	if err != nil {
		return "", err
	}
	inputs := ""
	for _, p := range all {
		if !r.used[p.Name] {
			g.lose(i.name, "parameter left out", p.Name+" is not used in the request", i.line)
			continue
		}
		if len(p.AuthServices) > 0 {
			continue
		}
		if len(p.ExcludedValues) > 0 {
			g.lose(i.name, "excludedValues", "of "+p.Name+": write a check", i.line)
		}
		p.Description = g.describe(i, "the description of "+p.Name, p.Description, 500)
		typ, err := p.inputType(false)
		if err != nil {
			return "", fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		inputs += importer.Input(r.inputs[p.Name], typ)
	}
	block := importer.HTTP{Connection: s.connection, Method: method, URL: path, Query: importer.Map(query),
		Headers: importer.Map(headers), Rest: body}
	return inputs + "\n" + block.Block(), nil
}

// httpRequest writes the parts of a request.
type httpRequest struct {
	inputs map[string]string // by the names of parameters
	params map[string]parameter
	used   map[string]bool
}

// value returns the value of a parameter.
func (r *httpRequest) value(p parameter) string {
	r.used[p.Name] = true
	if len(p.AuthServices) > 0 && claimName.MatchString(p.AuthServices[0].Field) {
		return "caller.claims." + p.AuthServices[0].Field
	}
	return "input." + r.inputs[p.Name]
}

var goAction = lazyregexp.New(`\{\{\s*(json +)?\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

// template writes a text with {{.name}} as the inside of a quoted template.
func (r *httpRequest) template(text string) (string, error) {
	out, at := "", 0
	for _, m := range goAction.FindAllStringSubmatchIndex(text, -1) {
		p, ok := r.params[text[m[4]:m[5]]]
		if !ok {
			return "", fmt.Errorf("there is no parameter %s", text[m[4]:m[5]])
		}
		out += quoteInner(text[at:m[0]]) + "${" + r.value(p) + "}"
		at = m[1]
	}
	if out += quoteInner(text[at:]); strings.Contains(text[at:], "{{") || strings.Contains(out, "{{") {
		return "", errors.New("a template has no counterpart; {{.name}} has")
	}
	return out, nil
}

// path returns the path and the constant parameters of the query.
func (r *httpRequest) path(text string) (path string, query []string, err error) {
	raw, rest, _ := strings.Cut(text, "?")
	if path, err = r.template(raw); err != nil {
		return "", nil, err
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	for pair := range strings.SplitSeq(rest, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name, err = url.QueryUnescape(name); err != nil || name == "" {
			continue
		}
		if !strings.Contains(value, "{{") {
			if value, err = url.QueryUnescape(value); err != nil {
				return "", nil, errors.New("its path has a query that cannot be read")
			}
		}
		if value, err = r.template(value); err != nil {
			return "", nil, err
		}
		query = append(query, importer.Key(name)+` = "`+value+`"`)
	}
	return path, query, nil
}
