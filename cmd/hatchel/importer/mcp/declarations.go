package mcp

import (
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
)

// Declarations are the secrets and variables of the servers of one import, which share those that are references to
// the same value.
type Declarations struct {
	secrets, variables map[string]*declaration // by name
	names              map[string]int          // how many servers have a credential of a name in their source
}

// declaration is a secret or a variable.
type declaration struct {
	name, env string
	value     string // of a credential in the source; it is known during the import only
	hasValue  bool
	optional  bool
	fallback  *string // of a variable
	comment   string
}

// NewDeclarations returns the declarations of an import of servers.
func NewDeclarations(servers []*Server) *Declarations {
	d := &Declarations{map[string]*declaration{}, map[string]*declaration{}, map[string]int{}}
	for _, s := range servers {
		for _, v := range slices.Concat(s.env, s.headers) {
			d.names[importer.Identifier(v.name)]++
		}
	}
	return d
}

// Values returns the values of the secrets that the source has, by their environment variables. They are for the
// import itself, and never written.
func (d *Declarations) Values() map[string]string {
	values := map[string]string{}
	for _, s := range d.secrets {
		if s.hasValue {
			values[s.env] = s.value
		}
	}
	return values
}

// declared are the blocks that one server uses, in the order of their use.
type declared struct {
	*Declarations
	server *Server
	result *importer.Result
	used   []*declaration
	isVar  map[*declaration]bool
	prefix string // of names that are too general
}

// expression returns the expression of a text. name is what it is the value of. A text that is or has a credential
// is a secret, and never constant.
func (d *declared) expression(name string, t text) (string, error) {
	constant, isConstant := t.constant()
	if isConstant && isCredential(name, constant) {
		return "secret." + d.valueSecret(name, constant), nil
	}
	if isConstant {
		return importer.Quote(constant), nil
	}
	if importer.ContainsCredential(t.constants()) {
		return "", fmt.Errorf("%s has a credential beside a reference", name)
	}
	var out strings.Builder
	for _, p := range t {
		if p.kind == "" {
			quoted := importer.Quote(p.text)
			out.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		reference, err := d.reference(name, p)
		if err != nil {
			return "", err
		}
		if len(t) == 1 {
			return reference, nil
		}
		out.WriteString("${" + reference + "}")
	}
	return `"` + out.String() + `"`, nil
}

// isCredential reports whether a text under a name must not be written to a file: it is a credential by its name or
// its form, or holds the place of one.
func isCredential(name, constant string) bool {
	return credential.IsNamed(name, constant) || importer.ContainsCredential(constant) ||
		credential.LooksRandom(constant) && !strings.Contains(constant, "/") || isPlaceholder(name, constant)
}

// isPlaceholder reports whether a text holds the place of a credential, as in <your token>.
func isPlaceholder(name, constant string) bool {
	return credential.IsName(name) && constant != "" &&
		(strings.ContainsAny(constant, "<>{}…") || strings.Trim(constant, "xX*._-") == "")
}

// reference returns the expression of a reference that is, or is a part of, the value of name.
func (d *declared) reference(name string, p part) (string, error) {
	switch p.kind {
	case "workspace":
		const text = "The directory of the client's workspace."
		return "var." + d.variable("workspace", "", &d.server.workspace, text), nil
	case "home":
		return "var." + d.variable("home", "HOME", nil, "The home directory of the user."), nil
	case "input":
		in, known := d.server.inputs[p.name]
		id := importer.Identifier(p.name)
		if !known {
			return "", fmt.Errorf("${input:%s} is not declared", p.name)
		}
		what := "the description of the input " + p.name
		text := d.result.Describe(d.server.Name, what, in.description, d.server.Origin, maxTitle)
		if in.password || credential.IsName(p.name) || credential.IsName(name) {
			return "secret." + d.secret(&declaration{name: id, env: strings.ToUpper(id), comment: text}), nil
		}
		var fallback *string
		if in.fallback != "" {
			fallback = &in.fallback
		}
		return "var." + d.variable(id, strings.ToUpper(id), fallback, text), nil
	}
	id := importer.Identifier(p.name)
	if credential.IsName(p.name) || credential.IsName(name) {
		s := &declaration{name: id, env: p.name}
		switch {
		case p.fallback == nil:
		case *p.fallback == "":
			s.optional = true
		default:
			d.result.Lose(d.server.Name, "default left out", "of "+p.name+", which is a credential", d.server.Origin)
		}
		return "secret." + d.secret(s), nil
	}
	if p.fallback != nil && importer.ContainsCredential(*p.fallback) {
		d.result.Lose(d.server.Name, "default left out", "of "+p.name+", which is a credential", d.server.Origin)
		p.fallback = nil
	}
	return "var." + d.variable(id, p.name, p.fallback, ""), nil
}

// valueSecret declares the secret of a credential that the source has, and returns its name.
func (d *declared) valueSecret(name, value string) string {
	id := strings.TrimPrefix(importer.Identifier(name), "x_")
	if strings.EqualFold(name, "Authorization") {
		id = "token"
	}
	server, _, _ := strings.Cut(d.prefix, "_")
	isOwn := slices.Contains(strings.Split(id, "_"), server) // as in GITHUB_TOKEN of github
	if !isOwn || d.names[importer.Identifier(name)] > 1 {
		id = d.prefix + "_" + id
	}
	known := !isPlaceholder(name, value)
	if !known {
		value = ""
	}
	return d.secret(&declaration{name: id, env: strings.ToUpper(id), value: value, hasValue: known})
}

// secret declares a secret, and returns its name.
func (d *declared) secret(s *declaration) string {
	if known := d.secrets[s.name]; known != nil {
		if known.env != s.env || known.hasValue != s.hasValue || known.value != s.value {
			s.name = d.prefix + "_" + s.name
			if s.hasValue {
				s.env = strings.ToUpper(s.name)
			}
		}
	}
	if known := d.secrets[s.name]; known != nil {
		known.optional = known.optional && s.optional
		s = known
	}
	d.secrets[s.name] = s
	d.use(s, false)
	return s.name
}

// variable declares a variable, and returns its name. One with another default is another variable.
func (d *declared) variable(name, env string, fallback *string, comment string) string {
	v := &declaration{name: name, env: env, fallback: fallback, comment: comment}
	if known := d.variables[name]; known != nil && !sameText(known.fallback, fallback) {
		v.name, v.env = d.prefix+"_"+name, ""
	}
	if known := d.variables[v.name]; known != nil {
		v = known
	}
	d.variables[v.name] = v
	d.use(v, true)
	return v.name
}

func sameText(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func (d *declared) use(one *declaration, isVar bool) {
	if !slices.Contains(d.used, one) {
		d.used = append(d.used, one)
		d.isVar[one] = isVar
	}
}

// blocks adds the blocks of what the server uses.
func (d *declared) blocks(file string) {
	for _, one := range d.used {
		var out strings.Builder
		if d.isVar[one] {
			fmt.Fprintf(&out, "variable %s {\ntype = string\n", importer.Quote(one.name))
			if one.comment != "" {
				fmt.Fprintf(&out, "description = %s\n", importer.Quote(one.comment))
			}
			if one.env != "" {
				fmt.Fprintf(&out, "env = %s\n", importer.Quote(one.env))
			}
			if one.fallback != nil {
				fmt.Fprintf(&out, "default = %s\n", importer.Quote(*one.fallback))
			}
			out.WriteString("}")
		} else {
			if one.comment != "" {
				out.WriteString(importer.Comment(one.comment))
			}
			text := importer.Secret(one.name, one.env)
			if one.optional {
				text = fmt.Sprintf("secret %s {\nenv = %s\noptional = true\n}", importer.Quote(one.name),
					importer.Quote(one.env))
			} else {
				d.result.Export(one.env)
			}
			out.WriteString(text)
		}
		text := strings.TrimRight(out.String(), "\n")
		d.result.Blocks = append(d.result.Blocks, importer.Block{File: file, Text: text, Origin: d.server.Origin})
	}
}
