// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// GitBranch is the branch of all commits.
const GitBranch = "main"

// Git serves Git repositories by HTTP.
type Git struct {
	address, dir, git string

	server *http.Server
}

// StartGit listens on a free port of the loopback interface. The repositories are stored in dir.
func StartGit(ctx context.Context, dir string) (*Git, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("start a Git server: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	g := &Git{dir: dir, git: git}
	handler := &cgi.Handler{
		Path: git, Args: []string{"http-backend"},
		Env: append(g.env(), "GIT_PROJECT_ROOT="+dir, "GIT_HTTP_EXPORT_ALL=1"),
	}
	if g.server, g.address, err = Serve(ctx, "127.0.0.1:0", handler); err != nil {
		return nil, fmt.Errorf("start a Git server: %w", err)
	}
	return g, nil
}

// Close ends the server.
func (g *Git) Close() error { return g.server.Close() }

// URL returns the address of a repository, for a GitRepository.
func (g *Git) URL(repository string) string { return "http://" + g.address + "/" + repository }

// Commit commits each chart to charts/<name> of a repository. The first commit creates the
// repository.
func (g *Git) Commit(ctx context.Context, repository string, charts ...*helmchart.Chart) error {
	dir, err := g.init(ctx, repository)
	if err != nil {
		return err
	}
	for _, c := range charts {
		folder := filepath.Join(dir, "charts")
		if err := os.RemoveAll(filepath.Join(folder, c.Name())); err != nil {
			return err
		}
		if err := chartutil.SaveDir(c, folder); err != nil {
			return fmt.Errorf("commit chart %s: %w", c.Name(), err)
		}
	}
	return g.commit(ctx, dir)
}

// CommitFiles commits files by their paths in a repository, and returns the revision that
// source-controller has for the commit. The first commit creates the repository.
func (g *Git) CommitFiles(ctx context.Context, repository string, files map[string]string) (string, error) {
	dir, err := g.init(ctx, repository)
	if err != nil {
		return "", err
	}
	for path, content := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	if err := g.commit(ctx, dir); err != nil {
		return "", err
	}
	hash, err := g.run(ctx, dir, "rev-parse", "HEAD")
	return GitBranch + "@sha1:" + strings.TrimSpace(hash), err
}

// init returns the folder of a repository, which it creates if it does not exist.
func (g *Git) init(ctx context.Context, repository string) (string, error) {
	dir := filepath.Join(g.dir, repository)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	_, err := g.run(ctx, g.dir, "init", "--quiet", "--initial-branch="+GitBranch, repository)
	return dir, err
}

func (g *Git) commit(ctx context.Context, dir string) error {
	if _, err := g.run(ctx, dir, "add", "--all"); err != nil {
		return err
	}
	_, err := g.run(ctx, dir, "commit", "--quiet", "--allow-empty", "--message=Change files")
	return err
}

func (g *Git) run(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, g.git, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), g.env()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return string(out), nil
}

// env excludes the user's settings: signing, hooks, templates.
func (g *Git) env() []string {
	return []string{
		"HOME=" + g.dir, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Pintle", "GIT_AUTHOR_EMAIL=pintle@example.com",
		"GIT_COMMITTER_NAME=Pintle", "GIT_COMMITTER_EMAIL=pintle@example.com",
	}
}
