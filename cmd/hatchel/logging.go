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

// logging are the flags that say what a server writes to standard error.
type logging struct {
	level  string
	format string
}

func (l *logging) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.level, "log-level", "info", "debug, info, warn or error")
	cmd.Flags().StringVar(&l.format, "log-format", "text", "text or json")
	cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// plain reports whether people read the log.
func (l *logging) plain() bool { return l.format == "text" }

// say is a line that is wanted at every level of the log.
func (l *logging) say(ctx context.Context, log *slog.Logger, stderr io.Writer, line string) {
	if l.plain() {
		fmt.Fprintln(stderr, line)
		return
	}
	// The handler is asked itself, past its level.
	log.Handler().Handle(ctx, slog.NewRecord(time.Now(), slog.LevelInfo, line, 0))
}

// said puts the reason of a failure where the log goes, when programs read that.
func (l *logging) said(ctx context.Context, log *slog.Logger, err error) error {
	var failed *failure
	if l.plain() || !errors.As(err, &failed) || failed.text == "" {
		return err
	}
	log.ErrorContext(ctx, "hatchel: "+failed.text)
	return &failure{code: failed.code}
}

func (l *logging) logger(stderr io.Writer) (*slog.Logger, error) {
	var level slog.Level
	switch l.level {
	case "debug", "info", "warn", "error":
		level.UnmarshalText([]byte(l.level))
	default:
		return nil, misusef("--log-level is debug, info, warn or error, and got %q", l.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch l.format {
	case "text":
		return slog.New(slog.NewTextHandler(stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(stderr, options)), nil
	}
	return nil, misusef("--log-format is text or json, and got %q", l.format)
}
