// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/worker"
)

// The exit codes of diff after an error, and for a change that may harm something. 1 means that something
// differs.
const (
	exitError  = 2
	exitDanger = 3
)

// differ computes diffs.
type differ interface {
	Desired(ctx context.Context, q diff.Query) (view.Diff, error)
	Proposed(ctx context.Context, q diff.Query) (view.Diff, error)
	Revision(ctx context.Context, q diff.Query, version int) (view.Diff, error)
	Rollback(ctx context.Context, q diff.Query, version int) (view.Diff, error)
	Drift(ctx context.Context, q diff.Query) (view.Diff, error)
}

func diffCommand(s *Session) *cobra.Command {
	d := &diffing{Session: s}
	cmd := &cobra.Command{
		Use:   "diff [NAME]",
		Short: "Show what a reconciliation, a revision or a pull request would change",
		Long: "Shows what a reconciliation of a HelmRelease would change now: objects, fields, hooks and notes. The chart is rendered " +
			"here, and the API server is asked by dry runs. Nothing is written. Values of Secrets are masked.\n\n" +
			"What the change may harm comes first: data, availability, permissions, the origin of images.\n\n" +
			"The exit code is 0 without a difference, 1 with one, 3 with one that has a danger, and 2 after an error or if an object would be refused.",
		Example: "  # Show what the next reconciliation would change\n" +
			"  kubectl pintle diff web\n\n" +
			"  # Compare live objects with revision 3, or with the newest one\n" +
			"  kubectl pintle diff web --revision 3\n" +
			"  kubectl pintle diff web --drift\n\n" +
			"  # Show what all HelmReleases of a pull request would change\n" +
			"  kustomize build apps | kubectl pintle diff -f -\n\n" +
			"  # The same with a chart that is not published yet\n" +
			"  kubectl pintle diff -f release.yaml --chart web-1.4.0.tgz\n\n" +
			"  # The same with values, or the chart, of a branch that is not merged yet\n" +
			"  kubectl pintle diff -f release.yaml --source apps/config=./checkout\n\n" +
			"  # Write the comment of a pull request\n" +
			"  kubectl pintle diff -f release.yaml --format=markdown",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.completeOne,
	}
	cmd.Flags().IntVar(&d.revision, "revision", 0, "Compare live objects with this stored revision.")
	cmd.Flags().BoolVar(&d.drift, "drift", false, "Compare live objects with the newest revision, as the detection of drift does.")
	cmd.Flags().StringVarP(&d.file, "filename", "f", "", "A file with HelmReleases, or - for the standard input. NAME selects one of several.")
	cmd.Flags().StringVar(&d.archive, "chart", "", "An archive of a chart, in place of the artifact of the source.")
	cmd.Flags().StringArrayVar(&d.sources, "source", nil, "NAMESPACE/NAME=DIRECTORY: a directory in place of the artifact of a source that values come from, or of a GitRepository or Bucket with the chart. Can be repeated.")
	cmd.Flags().BoolVar(&d.asMe, "as-me", false, "Let templates look objects up with your own rights, and not with those of the release. The author of the chart may show them to others.")
	cmd.Flags().StringArrayVar(&d.override, "override-manager", nil, "A field manager whose fields the controller takes over, as in the flag of the controller. Can be repeated.")
	cmd.Flags().StringVar(&d.account, "default-service-account", "", "The ServiceAccount of a release without spec.serviceAccountName, as in the flag of the controller.")
	s.completeRevision(cmd, "revision")
	s.showCommand(cmd, d.show, string(outputMarkdown))
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "format" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
	args, run := cmd.Args, cmd.RunE
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return asError(err) })
	cmd.Args = func(cmd *cobra.Command, all []string) error { return asError(args(cmd, all)) }
	cmd.RunE = func(cmd *cobra.Command, all []string) error { return asError(run(cmd, all)) }
	return cmd
}

// asError gives an error the exit code of diff, unless it reports a difference.
func asError(err error) error {
	if err == nil || errors.Is(err, errFailed) {
		return err
	}
	return &codedError{error: err, code: exitError}
}

// diffing is one run of the command.
type diffing struct {
	*Session

	revision      int
	drift         bool
	file, archive string
	// sources are directories in place of sources, and charts the archives in place of artifacts.
	sources []string
	charts  diff.Given
	// asMe makes templates read as the user, and account is the ServiceAccount of a release that names
	// none.
	asMe    bool
	account string
	// override are field managers whose additions are drift.
	override []string
}

// check returns an error for arguments that exclude each other.
func (d *diffing) check(args []string) error {
	chosen := 0
	for _, is := range []bool{d.revision != 0, d.drift, d.file != ""} {
		if is {
			chosen++
		}
	}
	switch {
	case d.revision < 0:
		return errors.New("--revision must be the number of a revision")
	case chosen > 1:
		return errors.New("only one of --revision, --drift and --filename can be used")
	case len(args) == 0 && d.file == "":
		return errors.New("NAME or --filename is required")
	case d.archive != "" && (d.revision != 0 || d.drift):
		return errors.New("--chart has no meaning with --revision and --drift, which compare a stored revision")
	case len(d.sources) > 0 && (d.revision != 0 || d.drift):
		return errors.New("--source has no meaning with --revision and --drift, which compare a stored revision")
	}
	return nil
}

// errDanger is the error of diffs with dangers, and errRefused of diffs with problems. Both have been printed.
var errDanger = &codedError{error: errFailed, code: exitDanger}

var errRefused = &codedError{error: errFailed, code: exitError}

func (d *diffing) show(ctx context.Context, c *connection, args []string) error {
	if err := d.check(args); err != nil {
		return err
	}
	all, failed := d.diff(ctx, c, args)
	if len(all) == 0 {
		return failed
	}
	var shown any = items[view.Diff]{all}
	if len(all) == 1 && failed == nil {
		shown = all[0]
	}
	err := d.print(shown, func(w io.Writer, style text.Style) error {
		for i, found := range all {
			if d.out == outputMarkdown {
				if err := text.Markdown(w, found); err != nil {
					return err
				}
				continue
			}
			if i > 0 {
				if _, err := fmt.Fprintln(w, "\n---"); err != nil {
					return err
				}
			}
			if err := text.Diff(w, found, style); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case slices.ContainsFunc(all, func(found view.Diff) bool { return len(found.Problems) > 0 }):
		return errRefused
	case slices.ContainsFunc(all, func(found view.Diff) bool { return len(found.Dangers) > 0 }):
		return errDanger
	case slices.ContainsFunc(all, func(found view.Diff) bool { return found.Differs() }):
		return errFailed
	}
	return nil
}

// diff computes the diffs that the flags choose: of each HelmRelease of a file, or of one. If one
// of several cannot be compared, the error has been printed.
func (d *diffing) diff(ctx context.Context, c *connection, args []string) ([]view.Diff, error) {
	q := diff.Query{Reader: c}
	if d.archive != "" {
		archive, err := os.ReadFile(d.archive)
		if err != nil {
			return nil, err
		}
		q.Artifact = d.charts.Artifact(filepath.Base(d.archive), archive)
	}
	checkouts, err := openCheckouts(d.sources)
	if err != nil {
		return nil, err
	}
	defer closeCheckouts(checkouts)
	q.Checkouts = checkouts
	dryRun, stop, err := d.connectDiffer(c, &q)
	if err != nil {
		return nil, err
	}
	defer stop()
	if d.file == "" {
		if q.Release, err = c.release(ctx, args[0]); err != nil {
			return nil, err
		}
		if err := checkCheckouts(checkouts, q.Release); err != nil {
			return nil, err
		}
		d.noteOwner(q.Release)
		found, err := d.ofRelease(ctx, c, q)
		if err != nil {
			return nil, err
		}
		return []view.Diff{found}, nil
	}
	given, err := d.given(c, args)
	if err != nil {
		return nil, err
	}
	if err := checkCheckouts(checkouts, given...); err != nil {
		return nil, err
	}
	var all []view.Diff
	var failed error
	for _, hr := range given {
		switch found, err := d.ofFile(ctx, c, q, dryRun, hr); {
		case err == nil:
			all = append(all, found)
		case len(given) == 1:
			return nil, err
		default:
			_, _ = fmt.Fprintf(d.ErrOut, "error: %s: %s\n", client.ObjectKeyFromObject(hr), text.Clean(err.Error()))
			failed = errRefused
		}
	}
	return all, failed
}

// ofFile computes the diff of a HelmRelease of a file.
func (d *diffing) ofFile(ctx context.Context, c *connection, q diff.Query, dryRun client.Client, hr *helmv2.HelmRelease) (found view.Diff, err error) {
	if q.Release, err = diff.Propose(ctx, dryRun, hr); err != nil {
		return found, err
	}
	if q, err = d.prepare(ctx, c, q); err != nil {
		return found, err
	}
	return d.differ.Proposed(ctx, q)
}

// ofRelease computes the diff of a HelmRelease of the cluster.
func (d *diffing) ofRelease(ctx context.Context, c *connection, q diff.Query) (found view.Diff, err error) {
	switch {
	case d.revision != 0:
		return d.differ.Revision(ctx, q, d.revision)
	case d.drift:
		return d.differ.Drift(ctx, q)
	}
	if q, err = d.prepare(ctx, c, q); err != nil {
		return found, err
	}
	return d.differ.Desired(ctx, q)
}

// prepare returns a query with the rights of templates, and the chart of a directory.
func (d *diffing) prepare(ctx context.Context, c *connection, q diff.Query) (diff.Query, error) {
	var err error
	if q.Lookups, err = d.lookups(ctx, c, q.Release); err != nil || q.Artifact.Digest != "" {
		return q, err
	}
	found, err := inputs.NewResolver(c, c, nil).WithCheckouts(q.Checkouts).CheckedOutChart(ctx, q.Release)
	switch key := client.ObjectKeyFromObject(q.Release).String(); {
	case err != nil || found == nil:
	case found.Kept:
		_, _ = fmt.Fprintf(d.ErrOut, "note: %s: version %s of chart %s is packaged already, and with reconcileStrategy ChartVersion source-controller packages only other versions: "+
			"the chart of the cluster is compared\n", key, text.Clean(found.Version), text.Clean(found.Name))
	default:
		q.Artifact = d.charts.Artifact(fmt.Sprintf("%s/%s-%s.tgz", key, found.Name, found.Version), found.Archive)
	}
	return q, err
}

// lookups returns how templates read: as the ServiceAccount of the release, if the user may impersonate
// it.
func (d *diffing) lookups(ctx context.Context, c *connection, hr *helmv2.HelmRelease) (diff.Lookups, error) {
	const instead = ", or use --as-me for your own rights"
	name := cmp.Or(hr.Spec.ServiceAccountName, d.account)
	switch {
	case d.asMe:
		return diff.Lookups{}, nil
	case name == "":
		return diff.Lookups{Denied: "the release names no ServiceAccount; set --default-service-account as the controller has it" + instead}, nil
	case *d.flags.Impersonate != "":
		return diff.Lookups{Denied: "a user who is impersonated by --as cannot impersonate the release; leave --as out" + instead}, nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "serviceaccounts", Namespace: hr.Namespace, Name: name},
	}}
	if err := c.Create(ctx, review); err != nil {
		return diff.Lookups{}, fmt.Errorf("your right to impersonate ServiceAccount %s/%s is not known: %w", hr.Namespace, name, err)
	}
	if !review.Status.Allowed {
		return diff.Lookups{Denied: fmt.Sprintf("you may not impersonate ServiceAccount %s/%s of the release; get that right%s", hr.Namespace, name, instead)}, nil
	}
	return diff.Lookups{User: "system:serviceaccount:" + hr.Namespace + ":" + name}, nil
}

// connectDiffer sets the connection of a query, and makes the Differ. The client sends only dry runs.
func (d *diffing) connectDiffer(c *connection, q *diff.Query) (dryRun client.Client, stop func(), err error) {
	if d.differ != nil {
		return c.WithWatch, func() {}, nil
	}
	config, err := d.flags.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	if q.Connection, err = cluster.Connect(config); err != nil {
		return nil, nil, err
	}
	options := optionsOf(c)
	options.HTTPClient = q.Connection.With(diff.ReadOnly).HTTPClient()
	if dryRun, err = client.New(config, options); err != nil {
		return nil, nil, err
	}
	downloads, pool, stop := d.downloads(c, config, &d.charts)
	d.differ = diff.New(diff.Options{Charts: downloads, Workers: pool, Settings: diff.Defaults(), OverrideManagers: d.override, Now: d.Now})
	return dryRun, stop, nil
}

// downloads returns a store that downloads artifacts with the rights of the user, and the worker that reads
// them. Archives that are given take the place of artifacts.
func (s *Session) downloads(c client.Client, config *rest.Config, given *diff.Given) (store *chart.Store, pool *worker.Pool, stop func()) {
	const rest = 32 << 20
	pool = worker.New(worker.Options{Size: 1, MaxRequest: chart.DefaultArtifactBytes + rest, TimeZone: s.Env("TZ"), Now: s.Now})
	tunnel := &portForwardTransport{Config: config, Client: c, Base: http.DefaultTransport}
	isService := func(host string) bool { _, is := serviceOf(host); return is }
	transport := diff.Archives(tunnel, isService, c)
	if given != nil {
		transport = given.Before(transport)
	}
	return diff.Store(transport, pool), pool, func() { tunnel.Close(); pool.Close() }
}

// given returns the HelmReleases of the file.
func (d *diffing) given(c *connection, args []string) ([]*helmv2.HelmRelease, error) {
	in := d.In
	file := "the standard input"
	if d.file != "-" {
		file = d.file
		f, err := os.Open(d.file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	name := ""
	if len(args) > 0 {
		var err error
		if name, err = releaseName(args[0]); err != nil {
			return nil, err
		}
	}
	all, err := helmReleases(in, name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case len(all) == 0:
		return nil, fmt.Errorf("%s has no HelmRelease %s", file, cmp.Or(name, "of "+helmv2.GroupVersion.String()))
	case len(all) > 1 && d.archive != "":
		return nil, fmt.Errorf("%s has %d HelmReleases, and --chart is the chart of one: NAME selects one", file, len(all))
	}
	for _, hr := range all {
		if hr.Namespace == "" {
			hr.Namespace = c.namespace
		}
	}
	return all, nil
}

// helmReleases returns the HelmReleases with a name, or all if it is empty.
func helmReleases(in io.Reader, name string) ([]*helmv2.HelmRelease, error) {
	var all []*helmv2.HelmRelease
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(in)); ; {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		hr := &helmv2.HelmRelease{}
		if err := bounded.Manifest().Unmarshal(raw, &hr.TypeMeta); err != nil {
			return nil, err
		}
		if hr.Kind != helmv2.HelmReleaseKind || hr.APIVersion != helmv2.GroupVersion.String() {
			continue
		}
		if err := bounded.Manifest().UnmarshalStrict(raw, hr); err != nil {
			return nil, err
		}
		if name == "" || hr.Name == name {
			all = append(all, hr)
		}
	}
}
