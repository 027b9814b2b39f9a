package hcl

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	hclv2 "github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"hatchel/hcl/decode"
	"hatchel/hcl/diag"
	"hatchel/hcl/eval"
)

// secretBlock is a secret block being decoded.
type secretBlock struct {
	Env, File, Credential string
	Command               []string
	TTL                   time.Duration
	Optional              bool
}

const (
	defaultSecretTTL = 10 * time.Minute
	minSecretTTL     = time.Second
)

// ErrSecretCommands is what Options.ReadSecretCommand returns where commands of secrets are not allowed.
var ErrSecretCommands = errors.New("commands of secrets are not allowed")

func (s *secretBlock) spec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("the source of the secret",
			sourceAttr(&s.Env, "env", "The environment variable that holds the secret."),
			sourceAttr(&s.File, "file", "The file that holds the secret, relative to the configuration directory. A "+
				"trailing line break is removed. A server reloads when the file changes."),
			sourceAttr(&s.Credential, "credential", "The name of a systemd credential that holds the secret: a file "+
				"in the directory $CREDENTIALS_DIRECTORY. A trailing line break is removed."),
			decode.Attr(&s.Command, "command", "The program that prints the secret, and its arguments. It runs "+
				"without a shell, in the configuration directory, with only PATH and HOME in its environment, for up "+
				"to 5 seconds. It may print 64 KiB; a trailing line break is removed, and standard error is dropped. "+
				"serve, call, read, prompt and validate --connect run it, and only with the flag "+
				"--allow-secret-commands. In all other commands the value is unknown.")),
		decode.Spec{decode.PositiveDuration(&s.TTL, "ttl", "How long the output of the command is used. Then a server "+
			"runs the command again, and reloads when the output has changed. While the command fails, its "+
			"last output is used, and the configuration is stale.").DefaultDoc("10m")},
		decode.Spec{decode.Attr(&s.Optional, "optional",
			"Whether the secret may be unset; it is then null.").DefaultDoc("false")},
	)
}

// sourceAttr declares an argument that names where the secret is.
func sourceAttr(dst *string, name, doc string) decode.Field {
	return decode.Attr(dst, name, doc).Check(func(d *decode.Decoder, r diag.Range) {
		if *dst == "" {
			d.Diags.Errorf(r, "Empty text", "%s is empty. Write a non-empty string.", name)
		}
	})
}

// decodeSecrets decodes the secret blocks.
func (l *loader) decodeSecrets() {
	l.eachBlock("secret", l.decodeSecret)
	l.base = l.base.With("secret", l.secretRoot(l.secrets))
}

func (l *loader) secretRoot(members map[string]*eval.Member) *eval.Root {
	return &eval.Root{Noun: "secret", Members: members, Type: eval.AnyType, Hidden: true, Partial: l.partial}
}

func (l *loader) decodeSecret(d *decode.Decoder, b sourceBlock) {
	name := b.Labels[0]
	checkIdentifier(&l.diags, "secret", name, labelRange(b.Block))
	s := &secretBlock{}
	d.Body(b.Block, s.spec())
	s.check(d, b)
	if s.Command != nil {
		l.secretCommands[name] = s.Command
	}
	m, unread := newSecret(), newSecret()
	unread.MarkFailed()
	unread.Missing = []*eval.Missing{{}}
	if l.opts.noSecrets || s.Command != nil && l.opts.ReadSecretCommand == nil && l.opts.testSecrets == nil {
		m = unread
		l.config.UnreadSecrets = true
	} else {
		l.setSecret(m, s, name, b)
	}
	if l.declare("secret", name, b) {
		l.secrets[name], l.unreadSecrets[name] = m, unread
	}
}

// check reports arguments that do not fit together.
func (s *secretBlock) check(d *decode.Decoder, b sourceBlock) {
	at := func(argument string) hclv2.Range { return b.Body.Attributes[argument].Expr.Range() }
	isEmpty := s.Command != nil && s.Command[0] == ""
	if a := b.Body.Attributes["command"]; a != nil {
		list, ok := a.Expr.(*hclsyntax.TupleConsExpr)
		isEmpty = isEmpty || ok && len(list.Exprs) == 0
	}
	if isEmpty {
		d.Errorf(at("command"), "Empty command", "The first element of command is the program.")
	}
	switch {
	case b.Body.Attributes["command"] == nil && s.TTL != 0:
		d.Errorf(at("ttl"), "Argument without effect", "ttl is for the output of a command.")
	case s.TTL != 0 && s.TTL < minSecretTTL:
		d.Errorf(at("ttl"), "Duration too short", "ttl is at least %s.", minSecretTTL)
	}
	if c := s.Credential; c != "" && (c != filepath.Base(c) || c == "." || c == "..") {
		d.Errorf(at("credential"), "Invalid credential", "A credential is the name of a file, without a directory.")
		s.Credential = "" // so that it is not read
	}
}

func newSecret() *eval.Member {
	return &eval.Member{Type: eval.StringType,
		Facts: eval.Facts{Known: true, Marks: eval.Marks{Sensitive: true}}}
}

// hideTestSecrets makes the values of secrets unknown in a block that no test uses.
func (l *loader) hideTestSecrets(d *decode.Decoder) {
	if l.opts.testSecrets != nil && l.untested {
		d.Scope = d.Scope.With("secret", l.secretRoot(l.unreadSecrets))
		d.LoadScope = d.Scope
	}
}

// readsTestSecret reports whether a block reads a secret with the value that tests give to it, which is not valid
// where an address is needed.
func (l *loader) readsTestSecret(d *decode.Decoder) bool {
	return slices.ContainsFunc(d.Deps.Members, func(m *eval.Member) bool { return l.testSecrets[m] })
}

// setSecret reads the secret and makes it the value of m.
func (l *loader) setSecret(m *eval.Member, s *secretBlock, name string, b sourceBlock) {
	text, why := l.readSecret(name, s)
	quoted, at := fmt.Sprintf("secret %q", name), labelRange(b.Block)
	switch {
	case why == "":
		m.Value = text
		_, given := l.opts.testSecrets[name]
		l.testSecrets[m] = l.opts.testSecrets != nil && !given
		l.secretValues, l.secretNames = append(l.secretValues, text), append(l.secretNames, "secret."+name)
	case text != "":
		m.Value = text
		l.secretValues, l.secretNames = append(l.secretValues, text), append(l.secretNames, "secret."+name)
		l.config.OldSecrets = true
		l.diags.Warnf(at, "Secret not renewed", "The secret %q is not renewed: %s. Its last value is used.", name, why)
	case why == notAllowed:
		l.declareMissing(m, 0, quoted, at, "Secret command not allowed", "The command of the "+quoted+" is not run: "+
			"review it, and allow the commands of secrets with the flag --allow-secret-commands.")
	case s.Command != nil && why != noOutput:
		l.declareMissing(m, diag.MissingSecret, quoted, at, "Missing secret",
			"The "+quoted+" is not available: "+why+".")
	case s.Optional:
		m.NullReason = "secret." + name + " is optional and not set"
	case s.Env != "" || s.File != "" || s.Credential != "" || s.Command != nil:
		l.declareMissing(m, diag.MissingSecret, quoted, at, "Missing secret",
			"The "+quoted+" is not available: "+why+". Write optional = true if the tools work without it.")
	default:
		m.MarkFailed()
	}
}

// Why the command of a secret has no value; other reasons are failures of the command.
const (
	notAllowed = "its command is not allowed"
	noOutput   = "its command prints nothing"
)

// readSecret returns the value of a secret, or why it has none, or only that of an earlier run of its command.
func (l *loader) readSecret(name string, s *secretBlock) (text, why string) {
	if l.opts.testSecrets != nil {
		if text, ok := l.opts.testSecrets[name]; ok {
			return text, ""
		}
		if !l.opts.realSecrets {
			return "test-" + name, ""
		}
	}
	switch {
	case s.Env != "":
		if text, _ = l.opts.Getenv(s.Env); text == "" {
			why = fmt.Sprintf("the environment variable %s is not set", s.Env)
		}
		return text, why
	case s.Credential != "":
		dir, _ := l.opts.Getenv("CREDENTIALS_DIRECTORY")
		if dir == "" {
			return "", "the environment variable CREDENTIALS_DIRECTORY is not set, which systemd sets for a service " +
				"with credentials"
		}
		return l.readSecretFile(filepath.Join(dir, s.Credential), "the credential "+s.Credential)
	case s.File != "":
		return l.readSecretFile(s.File, "the file "+s.File)
	case len(s.Command) > 0:
		return l.readSecretCommand(s)
	}
	return "", "it has no source"
}

func (l *loader) readSecretFile(path, what string) (text, why string) {
	if l.opts.ReadSecret == nil {
		return "", "secret files are not read here"
	}
	content, err := l.opts.ReadSecret(path)
	if err != nil {
		return "", what + " cannot be read"
	}
	if text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"); text == "" {
		return "", what + " is empty"
	}
	return text, ""
}

func (l *loader) readSecretCommand(s *secretBlock) (text, why string) {
	if l.opts.ReadSecretCommand == nil {
		return "", "its command runs only in serve, call, read, prompt and validate --connect, with the flag " +
			"--allow-secret-commands"
	}
	content, err := l.opts.ReadSecretCommand(s.Command, cmp.Or(s.TTL, defaultSecretTTL))
	switch {
	case errors.Is(err, ErrSecretCommands):
		return "", notAllowed
	case err != nil:
		return string(content), fmt.Sprintf("its command %s %s", s.Command[0], err)
	case len(content) == 0:
		return "", noOutput
	}
	return string(content), ""
}
