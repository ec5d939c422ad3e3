// SPDX-License-Identifier: MIT
/*
 * terminal.c - runs a program on a terminal of its own
 *
 *	terminal ROWS COLUMNS KEYS PROGRAM ARGUMENTS...
 *
 * KEYS are typed before the program starts. What the terminal would show goes to stdout, byte by byte as the program wrote it. Exit status:
 * the program's.
 */
#define _GNU_SOURCE
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

int main(int argc, char **argv)
{
	struct winsize size = { 0 };
	struct termios mode;
	char buffer[4096];
	int ours, theirs, status;
	ssize_t got;
	pid_t pid;

	if (argc < 5) {
		fprintf(stderr, "usage: terminal ROWS COLUMNS KEYS PROGRAM ARGUMENTS...\n");
		return 2;
	}
	size.ws_row = atoi(argv[1]);
	size.ws_col = atoi(argv[2]);
	if (openpty(&ours, &theirs, NULL, NULL, &size)) {
		perror("openpty");
		return 1;
	}
	/* Keys are there one by one, as the program will want them, and are not shown. */
	tcgetattr(theirs, &mode);
	mode.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(theirs, TCSANOW, &mode);
	if (write(ours, argv[3], strlen(argv[3])) < 0)
		perror("keys");
	pid = fork();
	if (!pid) {
		close(ours);
		login_tty(theirs);
		execvp(argv[4], argv + 4);
		perror(argv[4]);
		_exit(127);
	}
	close(theirs);
	/* EIO when the last one who had it open is gone. */
	while ((got = read(ours, buffer, sizeof(buffer))) > 0)
		if (write(STDOUT_FILENO, buffer, got) != got)
			break;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
