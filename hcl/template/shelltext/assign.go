package shelltext

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"hatchel/hcl/template"
)

// assign records an assignment by n to a variable.
func (a *taintWalk) assign(n syntax.Node, name string, t taint) {
	if t.level == tainted && codeVariables[name] {
		a.errorAt(n, "Value in a program's code",
			`The shell or other programs compute with the variable %s, or find code through it, so it `+
				`cannot hold %s. Use a variable of another name.`, name, t.from)
	}
	a.join(a.vars, name, t)
}

// assignment follows NAME=value, NAME+=value, NAME=(values) or NAME[index]=value.
func (a *taintWalk) assignment(as *syntax.Assign, sc scope) taint {
	a.checkArithmetic(as.Index, sc)
	t := a.word(as.Value, sc)
	if t.loose && as.Value != nil {
		t.path = t.path || a.isPath(as.Value, sc)
	}
	if as.Array != nil {
		for _, e := range as.Array.Elems {
			a.checkArithmetic(e.Index, sc)
			t = t.max(a.word(e.Value, sc))
		}
	}
	if as.Name == nil {
		return t
	}
	if as.Append {
		t = t.concatenated()
	}
	a.assign(as, as.Name.Value, t)
	a.noteNames(as.Name.Value, as.Value)
	return t
}

// noteNames records the variables that a constant text names, which is assigned to a variable.
func (a *taintWalk) noteNames(variable string, w *syntax.Word) {
	var text strings.Builder
	if w == nil || !literalParts(&text, w.Parts) {
		return
	}
	for _, name := range variableName.FindAllString(text.String(), -1) {
		if !slices.Contains(a.names[variable], name) {
			a.names[variable], a.changed = append(a.names[variable], name), true
		}
	}
}

var variableName = regexp.MustCompile(`[A-Za-z_]\w*`)

// codeVariables determine which code programs run.
var codeVariables = template.WordSet(`PATH IFS ENV BASH_ENV PS1 PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS LD_PRELOAD
	LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES EDITOR VISUAL PAGER BROWSER GIT_SSH GIT_SSH_COMMAND GIT_PAGER
	GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS LESSOPEN LESSCLOSE MANPAGER PERL5OPT
	PERL5LIB PERL5DB PYTHONPATH PYTHONSTARTUP PYTHONHOME RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS
	_JAVA_OPTIONS MAKEFLAGS TAR_OPTIONS AWKPATH GCONV_PATH SHELL RANDOM SRANDOM SECONDS LINENO OPTIND HISTCMD
	EPOCHSECONDS EPOCHREALTIME BASHPID BASH_MONOSECONDS UID EUID PPID HISTSIZE HISTFILESIZE TMOUT COLUMNS LINES
	BASH_ARGV0 BASH_COMPAT COMP_WORDBREAKS CDPATH`)

// declare follows export, readonly, local, declare and typeset.
func (a *taintWalk) declare(c *syntax.DeclClause, sc scope) {
	for _, as := range c.Args {
		if as.Name == nil && as.Value != nil && a.anyTainted && c.Variant.Value != "export" &&
			c.Variant.Value != "readonly" {
			switch option := as.Value.Lit(); {
			case strings.HasPrefix(option, "-") && strings.Contains(option, "i"):
				a.errorAt(as, "Value in arithmetic",
					`With %[1]s the shell computes with whatever the variable is given, and a value of the call can `+
						`be any text. Leave %[1]s out and compute where it is meant: n=$((n + 1)).`, option)
			case strings.HasPrefix(option, "-") && strings.Contains(option, "n"):
				a.errorAt(as, "Value as a variable's name",
					`With %s a variable names another one, whose value cannot be checked. Use the other variable `+
						`itself.`, option)
			}
		}
		t := a.assignment(as, sc)
		if as.Name == nil && t.level > trusted {
			a.errorAt(as, "Value as a variable's name",
				`%[1]s would choose which variable %[2]s sets. Write the name as text: %[2]s name=${...}.`, t.from,
				c.Variant.Value)
		}
		if as.Name != nil && as.Value != nil && !a.bash {
			a.warnUnquoted(as.Value, sc)
		}
	}
}
