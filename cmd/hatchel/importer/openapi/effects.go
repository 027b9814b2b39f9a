package openapi

import (
	"slices"
	"strings"
)

// Verbs of operation ids, paths and summaries.
var (
	readingVerbs = []string{"get", "list", "read", "fetch", "find", "search", "query", "lookup", "retrieve", "count",
		"preview", "describe", "show", "view", "check", "download", "export", "head"}
	postVerbs    = readingVerbs[:13] // of a POST that reads; an export may make something
	lastVerbs    = readingVerbs[:11] // those that also end a name: indicatorsSearch
	writingVerbs = []string{"create", "add", "insert", "delete", "remove", "destroy", "update", "edit", "modify",
		"replace", "send", "publish", "start", "stop", "cancel", "trigger", "execute", "reset", "restart", "enable",
		"disable", "activate", "deactivate", "revoke", "approve", "reject", "purge", "upload", "answer", "set", "post"}
)

// reportEffects reports an operation whose name contradicts its method: a GET that seems to write is served as
// read-only, and a POST that seems to read is not.
func (g *generator) reportEffects(op *operation) {
	first, _, _ := strings.Cut(strings.ToLower(op.node.get("summary").text()), " ")
	for _, said := range []struct {
		where string
		words []string
	}{
		{"its operationId", words(op.id)},
		{"its path", words(op.path[strings.LastIndexByte(op.path, '/')+1:])},
		{"its summary", []string{first}},
		{"its summary", []string{strings.TrimSuffix(first, "s")}},
	} {
		writing, reading := verbOf(said.words, writingVerbs), verbOf(said.words, readingVerbs)
		switch {
		case writing == "" && reading == "":
			continue
		case op.reads() && reading == "":
			g.lose(op, "GET that seems to write", said.where+" says "+writing+"; if it does, write read_only = false",
				op.node)
		case op.method == "post" && writing == "" && slices.Contains(postVerbs, reading) && (reading == said.words[0] ||
			slices.Contains(lastVerbs, said.words[len(said.words)-1]) && reading != "query"):
			g.lose(op, "POST that seems to read", said.where+" says "+reading+"; if it changes nothing, write "+
				"read_only = true", op.node)
		}
		return
	}
}

// verbOf returns the first of the words that is one of the verbs, or "".
func verbOf(words, verbs []string) string {
	if i := slices.IndexFunc(words, func(word string) bool { return slices.Contains(verbs, word) }); i >= 0 {
		return words[i]
	}
	return ""
}
