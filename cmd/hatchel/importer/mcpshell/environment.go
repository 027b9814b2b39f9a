package mcpshell

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hatchel/cmd/hatchel/importer"
	"hatchel/internal/credential"
)

func (t *tool) inherit(name string) {
	if !slices.Contains(t.inherited, name) {
		t.inherited = append(t.inherited, name)
	}
}

// environment returns the variables of the program. Credentials become secrets, and their values are not written.
func (g *generator) environment(t *tool) (string, error) {
	var entries []string
	secret := func(name string) {
		g.secrets[strings.ToUpper(name)] = "secret " + importer.Quote(strings.ToLower(name)) + " { env = " +
			importer.Quote(name) + " }\n"
		entries = append(entries, name+" = secret."+strings.ToLower(name))
	}
	for _, e := range t.Run.Env {
		name, value, assigned := strings.Cut(e, "=")
		switch {
		case !envName.MatchString(name):
			return "", fmt.Errorf("%q is no variable of the environment", name)
		case name == "PATH" && !assigned:
		case importer.IsCredential(name, value):
			secret(name)
			if assigned {
				g.lose(t.Name, "credential", "the value of "+name+" was not written; it is a secret now", t.line)
			}
		case !assigned:
			t.inherit(name)
		default:
			pieces, err := t.readTemplate(value)
			if err != nil {
				return "", err
			}
			text := ""
			for _, p := range pieces {
				if p.condition != nil || p.env != "" {
					return "", fmt.Errorf("the variable %s is computed", name)
				}
				if text += inner(p.text); p.param != nil {
					text += p.param.interpolation()
				}
			}
			entries = append(entries, name+" = \""+text+`"`)
		}
	}
	out := ""
	var inherited []string
	for _, name := range t.inherited {
		if credential.IsName(name) && !slices.Contains(t.Run.Env, name) {
			secret(name)
		} else if !credential.IsName(name) && name != "PATH" {
			inherited = append(inherited, importer.Quote(name))
		}
	}
	if entries != nil {
		out += "env = { " + strings.Join(entries, ", ") + " }\n"
	}
	if inherited != nil {
		out += "inherit_env = [" + strings.Join(inherited, ", ") + "]\n"
	}
	return out, nil
}

var folderOptions = []string{"allow_read_folders", "allow_write_folders", "allow_read_files", "allow_write_files"}

// sandbox returns the permissions of the program. Without a runner that confines it, it may use the network as before,
// and files only as far as the language allows.
func (g *generator) sandbox(t *tool) (string, error) {
	var folders []string
	network := true
	runners := slices.Concat(t.Run.Runners, t.Runners)
	if t.Run.Runner != "" || t.Run.Options != nil {
		runners = append(runners, runner{Name: t.Run.Runner, Options: t.Run.Options})
	}
	usable := len(runners) == 0
	for _, r := range runners {
		if r.Name == "docker" || r.Requirements.OS == "windows" {
			continue
		}
		usable = true
		if allowed, ok := r.Options["allow_networking"].(bool); ok && !allowed {
			network = false
		}
		for _, option := range folderOptions {
			list, _ := r.Options[option].([]any)
			for _, f := range list {
				if name := fmt.Sprint(f); !slices.Contains(folders, name) && !isSystem(name) {
					folders = append(folders, name)
				}
			}
		}
	}
	if !usable {
		return "", errors.New("its runner is a container; write a tool that starts one")
	}
	if t.Requirements.OS == "windows" || t.Requirements.OS == "darwin" {
		return "", fmt.Errorf("it requires %s", t.Requirements.OS)
	}
	if folders != nil {
		g.lose(t.Name, "folders of the sandbox left out", "add those that it needs to read or write: "+
			strings.Join(folders, ", "), t.line)
	}
	if network {
		return "sandbox { network = true }\n", nil
	}
	return "", nil
}

// isSystem reports whether every program may read a folder.
func isSystem(name string) bool {
	return slices.ContainsFunc([]string{"/usr", "/bin", "/lib", "/sbin"}, func(root string) bool {
		return name == root || strings.HasPrefix(name, root+"/")
	})
}
