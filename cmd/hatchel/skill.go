package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hatchel/hcl/agentskill"
	"hatchel/hcl/diag"
)

func skillCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "Install the skill for agents that write configurations",
		Long: `Install or print the skill that teaches coding agents to write, test and review the
tools of a configuration directory. It is in the format of Agent Skills. A server
does not serve it: skill blocks publish skills of your own.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return misusef("skill requires install or print") },
	}
	cmd.AddCommand(installSkillCommand(), printSkillCommand())
	return cmd
}

func installSkillCommand() *cobra.Command {
	var program string
	cmd := folderArg(&cobra.Command{
		Use:   "install [DIR]",
		Short: "Write the skill into a project",
		Long: `Write the skill into the directory of a project, where a program looks for skills:
.claude/skills for Claude Code, .cursor/skills for Cursor, and .agents/skills for Codex
and the other programs that read it. An earlier version of the skill is replaced.`,
		Example: `  hatchel skill install --for claude-code
  hatchel skill install --for agents ./tools`,
		RunE: func(cmd *cobra.Command, args []string) error {
			programs := skillPrograms()
			if !slices.Contains(programs, program) {
				return misusef("--for must be %s, and is %q", diag.JoinOr(programs), program)
			}
			dir, err := installSkill(program, folderOf(cmd, args))
			if err != nil {
				return failf("the skill cannot be written: %s", reason(err))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Wrote the skill to %s.\n", dir)
			return writeError(err)
		},
	})
	cmd.Flags().StringVar(&program, "for", "", "the `PROGRAM`: "+strings.Join(skillPrograms(), ", "))
	cmd.MarkFlagRequired("for")
	completeWords(cmd, "for", skillPrograms()...)
	return cmd
}

func printSkillCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "print [FILE]",
		Short: "Print the skill, or one of its files",
		Long: `Print the SKILL.md of the skill, or a file that it refers to, such as
references/testing.md or examples/http.hcl.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := agentskill.ManifestName
			if len(args) > 0 {
				file = args[0]
			}
			text, err := readSkillFile(file)
			if err != nil {
				return misusef("the skill has no file %q. It has %s", file, diag.JoinAnd(skillFiles()))
			}
			_, err = cmd.OutOrStdout().Write(text)
			return writeError(err)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return skillFiles(), cobra.ShellCompDirectiveNoFileComp
		},
	}
}
