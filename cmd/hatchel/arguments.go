package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/exit"
	"hatchel/hcl/value"
	"hatchel/runtime"
	"hatchel/runtime/call"
	"hatchel/runtime/stage/files"
)

// uploadFunc uploads a file of this machine and returns the argument that names it.
type uploadFunc func(name string) (any, error)

// errTwoNotations refuses arguments as JSON together with others.
var errTwoNotations = misusef("give the arguments as NAME=VALUE or as one JSON object, not both")

// isObject reports whether a word of a command line is meant as the object of all arguments: JSON, or - for standard
// input.
func isObject(word string) bool {
	return word == "-" || strings.HasPrefix(word, "{") || strings.HasPrefix(word, "[")
}

// isPair reports whether a word is meant as NAME=VALUE.
func isPair(word string) bool { return !isObject(word) && strings.Index(word, "=") > 0 }

// leadsWithDir reports whether words begin with a directory and a name, and not with the name and its arguments.
func leadsWithDir(words []string) bool {
	if len(words) < 2 || isPair(words[1]) || isObject(words[1]) {
		return false
	}
	info, err := os.Stat(words[0])
	return err == nil && info.IsDir()
}

// checkWords checks the notation of the arguments that follow a name.
func checkWords(words []string) error {
	name, words := words[0], words[1:]
	if filepath.Ext(name) == ".hcl" || len(words) == 1 && isObject(words[0]) {
		return nil // checkFolders refuses a file, and no tool has such a name
	}
	for i, word := range words {
		switch {
		case isPair(word):
			input, value, _ := strings.Cut(word, "=")
			if input, typed := strings.CutSuffix(input, ":"); typed {
				return fmt.Errorf("the input says how a value is read: write %s=%s", input, value)
			}
		case i > 0 && strings.HasPrefix(words[0], "{"):
			return errors.New("one JSON object has all arguments: quote it for the shell")
		case i == 0 && isObject(word) && !isPair(words[1]):
			continue
		case isObject(word):
			return errTwoNotations
		case i == 0:
			return fmt.Errorf("%q is no argument, which is NAME=VALUE, as in id=42. A directory comes before the "+
				"name, and %q is none", word, name)
		default:
			return fmt.Errorf("%q is no argument, which is NAME=VALUE, as in id=42", word)
		}
	}
	return nil
}

// arguments returns the JSON object that a client would send.
func (f *callFlags) arguments(cmd *cobra.Command, p *call.Program, words []string, upload uploadFunc) ([]byte, error) {
	if len(words) == 0 || !isObject(words[0]) {
		return argumentObject(p, slices.Concat(words, f.args), upload)
	}
	if words[0] != "-" {
		return checkObject([]byte(words[0]))
	}
	src, err := io.ReadAll(cmd.InOrStdin())
	if err != nil {
		return nil, failf("standard input cannot be read: %s", reason(err))
	}
	return checkObject(src)
}

func checkObject(src []byte) ([]byte, error) {
	v, err := value.Decode(src)
	if err != nil {
		return nil, misusef("the arguments are not valid JSON: %s", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, misusef("the arguments must be one JSON object, as in '{\"id\": 42}'")
	}
	return src, nil
}

func uploadFile(ctx context.Context, g *runtime.Generation, owner, name string) (any, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, misusef("%s cannot be read: %s", name, reason(err))
	}
	defer in.Close()
	f, err := g.UploadLocal(ctx, files.Upload{
		Owner: owner, Name: filepath.Base(name), Type: mime.TypeByExtension(filepath.Ext(name)), Length: -1,
	}, in)
	if err != nil {
		return nil, failf("%s cannot be uploaded: %s", name, err)
	}
	return map[string]any{"file_id": f.ID}, nil
}

// argumentObject builds the object of --arg name=value. With an upload function name=@file uploads
// a file for an input that takes one.
func argumentObject(p *call.Program, texts []string, upload uploadFunc) ([]byte, error) {
	out, err := typedArguments(p.Tool().Input, texts, upload)
	if _, isExit := errors.AsType[*exit.Error](err); err != nil && !isExit {
		err = misusef("%s", err)
	}
	return out, err
}
