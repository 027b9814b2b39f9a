package program

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"hatchel/adapters"
	"hatchel/hcl"
	"hatchel/hcl/diag"
	"hatchel/hcl/value"
)

// defaultPath is the PATH of programs if the server was started without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// DirectoryVars name directories that programs write to: those of the server, or the temporary directory of the call
// if the programs are confined.
var DirectoryVars = []string{"HOME", "TMPDIR"}

// Environment is a list of NAME=value, with each name once.
type Environment []string

// NewEnvironment returns what a program gets before env is added. Names that the server does not have are left out.
func NewEnvironment(inherit ...string) Environment {
	e := Environment{"PATH=" + defaultPath, "LANG=C.UTF-8"}
	for _, name := range append([]string{"PATH"}, inherit...) {
		if v, ok := os.LookupEnv(name); ok {
			e = e.Set(name, v)
		}
	}
	return slices.Clip(e)
}

// Set sets a variable, in place if it exists.
func (e Environment) Set(name, v string) Environment {
	for i, entry := range e {
		if n, _, _ := strings.Cut(entry, "="); n == name {
			e[i] = name + "=" + v
			return e
		}
	}
	return append(e, name+"="+v)
}

func (e Environment) Get(name string) string {
	for _, entry := range e {
		if v, ok := strings.CutPrefix(entry, name); ok && strings.HasPrefix(v, "=") {
			return v[1:]
		}
	}
	return ""
}

// VariableText converts a value to the text of a variable. The error is a sentence for the model.
func VariableText(name string, v any) (string, error) {
	v, err := value.Resolve(v)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case []any, map[string]any:
		return "", fmt.Errorf("the variable %s must be a text, but its value is %s; use jsonencode(...) to convert it",
			name, diag.WithArticle(value.Kind(v)))
	case value.Bytes:
		return "", fmt.Errorf("the variable %s must be a text, but its value is bytes; use base64encode(...) to "+
			"convert it", name)
	}
	text, err := value.Text(v)
	if err == nil && strings.IndexByte(text, 0) >= 0 {
		err = fmt.Errorf("the value for the variable %s contains a NUL character, which no program can receive; "+
			"remove it", name)
	}
	return text, err
}

func IsVariableName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00")
}

// CheckVariableNames rejects names that no variable can have.
func CheckVariableNames(checks *adapters.Checks, env **hcl.KeyValues, inherited *[]string) {
	for _, name := range (*env).Names() {
		checks.Refuse(!IsVariableName(name), env,
			"%q is not a variable name: it is empty, or contains an equals sign or NUL.", name)
	}
	for _, name := range *inherited {
		checks.Refuse(!IsVariableName(name), inherited,
			"%q is not a variable name. inherit_env lists names, as in [\"KUBECONFIG\"]; set values in env.", name)
	}
}
