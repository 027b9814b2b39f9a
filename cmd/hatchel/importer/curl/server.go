package curl

import (
	"errors"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/lazyregexp"
)

// server is the server of a URL whose host has variables of a shell or placeholders.
type server struct {
	base       string   // the expression of base_url
	variables  []string // that base reads
	connection string   // its name; empty if it follows from the host
}

var (
	hostOf = lazyregexp.New(`^(?:([A-Za-z]+)://)?([^/?#]*)`)
	// urlEnding is the end of the name of a variable with a URL.
	urlEnding = lazyregexp.New(`_?(base_)?(url|uri|host|hostname|fqdn|endpoint|address|server|domain|base)$`)
)

// readServer makes a variable of the configuration of each variable in the host of a URL. It returns the URL with a
// host in which their names stand.
func (r *request) readServer(target string) (string, error) {
	m := hostOf.FindStringSubmatch(target)
	if !strings.Contains(m[2], mark) {
		return target, nil
	}
	if strings.Contains(m[2], "@") {
		return "", errors.New("the host of the URL is a variable behind a user; write the user with -u")
	}
	s := new(server)
	template, host := "", ""
	for i, part := range strings.Split(m[2], mark) {
		if i%2 == 0 {
			quoted := importer.Quote(part)
			template += quoted[1 : len(quoted)-1]
			host += part
			continue
		}
		if slices.ContainsFunc(r.computed, func(p string) bool { return part == "-"+importer.Identifier(p) }) {
			return "", errors.New("the host of the URL is computed by the shell; write the host")
		}
		name := importer.Identifier(part)
		if !slices.Contains(s.variables, name) {
			s.variables = append(s.variables, name)
		}
		template += "${var." + name + "}"
		host += strings.ReplaceAll(name, "_", "-")
	}
	scheme := m[1]
	if only := "${var." + s.variables[0] + "}"; scheme == "" && template == only {
		s.base = "var." + s.variables[0] // with its scheme
	} else if scheme == "" {
		s.base = `"` + r.scheme + "://" + template + `"`
	} else {
		s.base = `"` + scheme + "://" + template + `"`
	}
	if !strings.Contains(host, ".") {
		s.connection = urlEnding.ReplaceAllString(s.variables[0], "")
		if s.connection == "" {
			s.connection = "api"
		}
	}
	r.server = s
	return target[:len(m[0])-len(m[2])] + host + target[len(m[0]):], nil
}
