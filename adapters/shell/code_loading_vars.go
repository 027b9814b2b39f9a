package shell

import (
	"slices"
	"strings"
)

// codeLoadingVars are variables that make programs run code: they contain code, or the place of code. A call must not
// set them.
var codeLoadingVars = strings.Fields(`
	PATH SHELL ENV BASH_ENV SHELLOPTS BASHOPTS IFS PS4 PROMPT_COMMAND CDPATH ZDOTDIR GCONV_PATH
	EDITOR VISUAL PAGER BROWSER MANPAGER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS
	GIT_SSH GIT_SSH_COMMAND GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND
	GIT_ASKPASS GIT_EXEC_PATH GIT_TEMPLATE_DIR
	PERL5OPT PERL5LIB PERLLIB PERL5DB PYTHONPATH PYTHONSTARTUP PYTHONHOME PYTHONINSPECT RUBYOPT RUBYLIB
	NODE_OPTIONS NODE_PATH PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_PATH LUA_CPATH
	JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH MAKEFLAGS GNUMAKEFLAGS TAR_OPTIONS
	AWKPATH AWKLIBPATH RSYNC_RSH CVS_RSH OPENSSL_CONF
`)

// codeLoadingPrefixes begin the names of further ones: those of the dynamic linker, functions that bash imports, and
// the configuration of git.
var codeLoadingPrefixes = []string{
	"LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG", "LUA_INIT_", "LUA_PATH_", "LUA_CPATH_",
}

// loadsCode reports whether a variable makes programs run code.
func loadsCode(name string) bool {
	return slices.Contains(codeLoadingVars, name) ||
		slices.ContainsFunc(codeLoadingPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
