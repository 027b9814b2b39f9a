package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
)

// logFlags are the flags for the log that a server writes to standard error.
type logFlags struct {
	level  string
	format string
}

func (l *logFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.level, "log-level", "info", "minimum `LEVEL` of log lines: debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "text", "`FORMAT` of log lines: text or json")
	completeWords(cmd, "log-level", "debug", "info", "warn", "error")
	completeWords(cmd, "log-format", "text", "json")
}

func completeWords(cmd *cobra.Command, flag string, words ...string) {
	cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func (l *logFlags) isText() bool { return l.format == "text" }

// announce writes a line at every log level.
func (l *logFlags) announce(ctx context.Context, log *slog.Logger, stderr io.Writer, line string) {
	if l.isText() {
		fmt.Fprintln(stderr, line)
		return
	}
	// The handler is called directly, because the logger drops lines below its level.
	log.Handler().Handle(ctx, slog.NewRecord(time.Now(), slog.LevelInfo, line, 0))
}

// logFailure writes the text of an error to a JSON log, and returns the error without it.
func (l *logFlags) logFailure(ctx context.Context, log *slog.Logger, err error) error {
	var exit *exitError
	if l.isText() || !errors.As(err, &exit) || exit.text == "" {
		return err
	}
	log.ErrorContext(ctx, "hatchel: "+exit.text)
	return &exitError{code: exit.code}
}

func (l *logFlags) logger(stderr io.Writer) (*slog.Logger, error) {
	var level slog.Level
	switch l.level {
	case "debug", "info", "warn", "error":
		level.UnmarshalText([]byte(l.level))
	default:
		return nil, misusef("--log-level must be debug, info, warn or error, and is %q", l.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), nil
	}
	return nil, misusef("--log-format must be text or json, and is %q", l.format)
}
