package shelltext

import (
	"slices"
	"strings"

	"hatchel/hcl/template"
)

// LoadsCode reports whether an environment variable makes programs run code: it contains code, or the place
// of code.
func LoadsCode(name string) bool {
	return codeVariables[name] ||
		slices.ContainsFunc(codeVariablePrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// namesCode reports whether the value of a variable may be the name of a file of code. PATH names folders; see
// searchesFiles.
func namesCode(name string) bool { return name != "PATH" && LoadsCode(name) }

var codeVariables = template.WordSet(`
	PATH SHELL ENV BASH_ENV SHELLOPTS BASHOPTS IFS PS4 PROMPT_COMMAND CDPATH ZDOTDIR GCONV_PATH
	EDITOR VISUAL PAGER BROWSER MANPAGER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS VIMINIT EXINIT
	GIT_SSH GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND
	GIT_ASKPASS GIT_EXEC_PATH GIT_TEMPLATE_DIR SYSTEMD_PAGER SYSTEMD_EDITOR KUBE_EDITOR RUSTC_WRAPPER
	PERL5OPT PERL5LIB PERLLIB PERL5DB PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT RUBYOPT RUBYLIB
	NODE_OPTIONS NODE_PATH PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_PATH LUA_CPATH ERL_FLAGS R_PROFILE
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAKEFLAGS MAKEFILES GNUMAKEFLAGS TAR_OPTIONS
	AWKPATH AWKLIBPATH RSYNC_RSH CVS_RSH OPENSSL_CONF PSQLRC`)

// codeVariablePrefixes begin the names of further ones: those of the dynamic linker, functions that bash
// imports, and the configuration of git.
var codeVariablePrefixes = []string{
	"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "LUA_INIT_", "LUA_PATH_", "LUA_CPATH_",
}

// computedVariables are variables of the shell whose values it parses.
var computedVariables = template.WordSet(`PS1 RANDOM SRANDOM SECONDS LINENO OPTIND HISTCMD EPOCHSECONDS EPOCHREALTIME
	BASHPID BASH_MONOSECONDS UID EUID PPID HISTSIZE HISTFILESIZE TMOUT COLUMNS LINES BASH_ARGV0 BASH_COMPAT
	COMP_WORDBREAKS`)
