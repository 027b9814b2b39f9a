package shell

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"hatchel/hcl"
	"hatchel/hcl/value"
)

// defaultPath is where programs are looked for when the server itself was started without a PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// passedOn are the variables of the server that every program sees.
var passedOn = []string{"PATH", "HOME", "TMPDIR"}

// An environ is a list of NAME=value, each name once.
type environ []string

// newEnviron is what a program sees before env is added. A name that the server does not have is left out.
func newEnviron(inherit ...string) environ {
	e := environ{"PATH=" + defaultPath, "LANG=C.UTF-8"}
	for _, name := range slices.Concat(passedOn, inherit) {
		if v, ok := os.LookupEnv(name); ok {
			e = e.set(name, v)
		}
	}
	return slices.Clip(e)
}

// set gives a variable a value, in place where it has one.
func (e environ) set(name, v string) environ {
	for i, entry := range e {
		if n, _, _ := strings.Cut(entry, "="); n == name {
			e[i] = name + "=" + v
			return e
		}
	}
	return append(e, name+"="+v)
}

func (e environ) get(name string) string {
	for _, entry := range e {
		if v, ok := strings.CutPrefix(entry, name); ok && strings.HasPrefix(v, "=") {
			return v[1:]
		}
	}
	return ""
}

// variableText is how one value reads in the environment. Its error is a sentence for the model.
func variableText(name string, v any) (string, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case []any, map[string]any:
		return "", fmt.Errorf("the variable %s takes one text, and its value is %s; jsonencode(...) makes a text of it", name, article(value.Kind(v)))
	case value.Bytes:
		return "", fmt.Errorf("the variable %s takes a text, and its value is bytes; base64encode(...) makes a text of them", name)
	}
	text, err := value.Text(v)
	if err == nil && strings.IndexByte(text, 0) >= 0 {
		err = fmt.Errorf("the value for the variable %s holds a NUL character, which no program can be given; send it without", name)
	}
	return text, err
}

func isVariable(name string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00")
}

// checkNames blames names that no variable can have.
func checkNames(env **hcl.KeyValues, written []string, inherit *[]string, inherited []string) (errs []error) {
	for _, name := range written {
		if !isVariable(name) {
			errs = append(errs, hcl.Blame(env, "%q is not the name of a variable: it is empty or holds an equals sign or NUL.", name))
		}
	}
	for _, name := range inherited {
		if !isVariable(name) {
			errs = append(errs, hcl.Blame(inherit, "%q is not the name of a variable. inherit_env lists names, as in [\"KUBECONFIG\"]; values are written in env.", name))
		}
	}
	return errs
}

func article(noun string) string {
	if noun == "object" {
		return "an object"
	}
	return "a " + noun
}
