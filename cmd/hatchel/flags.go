package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"hatchel/cmd/hatchel/exit"
	"hatchel/runtime/observe/logging"
)

// logFlags are the flags for the log that a server writes to standard error.
type logFlags struct {
	level  string
	format string
}

func (l *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.level, "log-level", "info", "minimum `LEVEL` of log lines: debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "text", "`FORMAT` of log lines: text or json")
	completeWords(cmd, "log-level", logging.Levels...)
	completeWords(cmd, "log-format", "text", "json")
}

func completeWords(cmd *cobra.Command, flag string, words ...string) {
	cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func (l *logFlags) isText() bool { return l.format == "text" }

// announce writes a line at every log level.
func (l *logFlags) announce(log *logging.Log, line string) {
	if l.isText() {
		fmt.Fprintln(log, line)
		return
	}
	log.Announce(line)
}

// logFailure writes the text of an error to the log, which waits for its reader only so long, and returns the error
// without it.
func (l *logFlags) logFailure(ctx context.Context, log *logging.Log, err error) error {
	var ended *exit.Error
	if !errors.As(err, &ended) || ended.Text == "" {
		return err
	}
	if text := "hatchel: " + ended.Text; l.isText() {
		fmt.Fprintln(log, text)
	} else {
		log.ErrorContext(ctx, text)
	}
	return &exit.Error{Code: ended.Code}
}

func (l *logFlags) logger(stderr io.Writer) (*logging.Log, error) {
	level, ok := logging.ParseLevel(l.level)
	if !ok {
		return nil, misusef("--log-level must be debug, info, warn or error, and is %q", l.level)
	}
	switch l.format {
	case "text":
		return logging.New(stderr, logging.Text, level), nil
	case "json":
		return logging.New(stderr, logging.JSON, level), nil
	}
	return nil, misusef("--log-format must be text or json, and is %q", l.format)
}
