package hcl

import (
	"fmt"
	"strings"

	"hatchel/hcl/decode"
	"hatchel/hcl/eval"
)

// secretBlock is a secret block being decoded.
type secretBlock struct {
	Env, File string
	Optional  bool
}

func (s *secretBlock) spec() decode.Spec {
	return decode.Join(
		decode.ExactlyOneOf("the source of the secret",
			decode.Attr(&s.Env, "env", "The environment variable that holds the secret."),
			decode.Attr(&s.File, "file", "The file that holds the secret, relative to the configuration directory. A "+
				"trailing line break is removed. A server reloads when the file changes.")),
		decode.Spec{decode.Attr(&s.Optional, "optional",
			"Whether the secret may be unset; it is then null.").DefaultDoc("false")},
	)
}

// decodeSecrets decodes the secret blocks.
func (l *loader) decodeSecrets() {
	l.eachBlock("secret", l.decodeSecret)
	l.base = l.base.With("secret", &eval.Root{Noun: "secret", Members: l.secrets, Type: eval.AnyType, Hidden: true,
		Partial: l.partial})
}

func (l *loader) decodeSecret(d *decode.Decoder, b sourceBlock) {
	name := b.Labels[0]
	checkIdentifier(&l.diags, "secret", name, labelRange(b.Block))
	s := &secretBlock{}
	d.Body(b.Block, s.spec())
	m := &eval.Member{Type: eval.StringType, Known: true, Sensitive: true}
	if l.opts.NoSecrets {
		m.MarkFailed()
		m.Missing = []*eval.Missing{{}}
	} else {
		l.setSecret(m, s, name, d, b)
	}
	if l.declare("secret", name, b) {
		l.secrets[name] = m
	}
}

// setSecret reads the secret and makes it the value of m.
func (l *loader) setSecret(m *eval.Member, s *secretBlock, name string, d *decode.Decoder, b sourceBlock) {
	text, ok, where := l.readSecret(name, s)
	switch {
	case ok:
		m.Value = text
		l.secretValues = append(l.secretValues, text)
	case s.Optional:
		m.NullReason = "secret." + name + " is optional and not set"
	case s.Env != "" || s.File != "":
		l.declareMissing(m, fmt.Sprintf("secret %q", name), labelRange(b.Block), "Missing secret",
			"The secret %q is not available: %s. Write optional = true if the tools work without it.", name, where)
	default:
		m.MarkFailed()
	}
}

func (l *loader) readSecret(name string, s *secretBlock) (text string, ok bool, where string) {
	if l.opts.TestSecrets != nil {
		text, ok = l.opts.TestSecrets[name]
		if !ok {
			text = "test-" + name
		}
		return text, true, ""
	}
	if s.Env != "" {
		text, ok = l.opts.Getenv(s.Env)
		return text, ok && text != "", fmt.Sprintf("the environment variable %s is not set", s.Env)
	}
	if s.File == "" || l.opts.ReadSecret == nil {
		return "", false, "secret files are not read here"
	}
	content, err := l.opts.ReadSecret(s.File)
	if err != nil {
		return "", false, fmt.Sprintf("the file %s cannot be read", s.File)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	return text, text != "", fmt.Sprintf("the file %s is empty", s.File)
}
