// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cli/text"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
)

func createCommand(s *Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a release with the flags of helm",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(createReleaseCommand(s), createHelmChartCommand(s))
	return cmd
}

func createReleaseCommand(s *Session) *cobra.Command {
	o := creation{Session: s}
	cmd := &cobra.Command{
		Use:   "release NAME",
		Short: "Create a HelmRelease and the source of its chart with the flags of helm",
		Long: "Creates the HelmRelease that does what 'helm upgrade --install' does with the same flags, and the source of its chart: " +
			"an OCIRepository, or with --repo a HelmRepository. Both have the name of the release. With --export, they are printed instead.\n\n" +
			"Nothing is created if an object of that name exists, or if a policy refuses the chart.",
		Example: "  # Install a chart, and undo an install or upgrade that fails\n" +
			"  kubectl pintle create release web --chart oci://registry.example.com/charts/web --version 1.4.0 --atomic\n\n" +
			"  # Print the objects of a chart in a Helm repository, for Git\n" +
			"  kubectl pintle create release web --repo https://charts.example.com --chart web --version 1.4.0 -f values.yaml --export",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.atomic, "atomic", false, "Roll a failed upgrade back, and uninstall a failed install.")
	cmd.Flags().BoolVar(&o.wait, "wait", true, "Wait until the objects are ready. Unlike helm, a HelmRelease waits unless this is false.")
	return cmd
}

func createHelmChartCommand(s *Session) *cobra.Command {
	o := creation{Session: s, asHelmChart: true}
	cmd := &cobra.Command{
		Use:     "helmchart NAME",
		Aliases: []string{"hc"},
		Short:   "Create a HelmChart of k3s, which Pintle reconciles, with the flags of helm",
		Long: "Creates the HelmChart of k3s (helm.cattle.io/v1) that does what 'helm upgrade --install' does with the same flags. " +
			"With --export, it is printed instead. Pintle reconciles it with the feature gate HelmChartAPI, " +
			"as ServiceAccount helm-NAME of its namespace if that exists.\n\n" +
			"Nothing is created if the HelmChart, or an object that is made for it, exists, or if a policy refuses the chart.",
		Example: "  # Print a HelmChart for Git\n" +
			"  kubectl pintle create helmchart web --repo https://charts.example.com --chart web --version 1.4.0 -f values.yaml --export",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.atomic, "atomic", false, "Refused: no field of a HelmChart has this meaning.")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until the objects are ready. As with helm, a HelmChart does not wait unless this is set.")
	return cmd
}

// addFlags adds the flags with the same meaning in all commands.
func (o *creation) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.chart, "chart", "", "oci:// URL of the chart, or with --repo its name. Required.")
	flags.StringVar(&o.repo, "repo", "", "URL of the Helm repository of the chart.")
	flags.StringVar(&o.version, "version", "", "Version of the chart, or a range such as 1.x, whose newest version is installed when it appears. '*' is the newest of all. Required.")
	flags.DurationVar(&o.timeout, "timeout", 0, "How long an action may wait for its objects, and for each hook. If 0, 5m.")
	flags.StringSliceVarP(&o.values.Files, "values", "f", nil, "A file with values, or - for the standard input. Can be repeated.")
	flags.StringArrayVar(&o.values.Set, "set", nil, "A value, such as image.tag=v2, with the type that helm gives it. Can be repeated.")
	flags.StringArrayVar(&o.values.SetString, "set-string", nil, "A value that is a string. Can be repeated.")
	flags.StringArrayVar(&o.values.SetFile, "set-file", nil, "A value that is the content of a file, such as script=run.sh. Can be repeated.")
	flags.StringArrayVar(&o.values.SetJSON, "set-json", nil, "A value in JSON, such as tags=[1,2]. Can be repeated.")
	flags.StringArrayVar(&o.values.SetLiteral, "set-literal", nil, "A value that is a string, commas included. Can be repeated.")
	flags.StringVar(&o.targetNamespace, "target-namespace", "", "Namespace to install into, if it is not the namespace of the object.")
	flags.BoolVar(&o.createNamespace, "create-namespace", false, "Create the namespace of --target-namespace if it is missing.")
	flags.BoolVar(&o.export, "export", false, "Print the objects as YAML, and create nothing.")
	for _, name := range []string{"chart", "repo", "version", "timeout", "set", "set-string", "set-json", "set-literal"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	_ = cmd.RegisterFlagCompletionFunc("target-namespace", o.completeNamespaces)
}

// creation is one run of the command.
type creation struct {
	*Session
	releaseFlags

	export bool
	// asHelmChart creates a HelmChart of k3s.
	asHelmChart bool
}

func (o *creation) run(ctx context.Context, name string) error {
	namespace, _, err := o.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	if o.asHelmChart && o.atomic {
		return errors.New("--atomic has no field in a HelmChart. The nearest is spec.failurePolicy: reinstall, the default, which uninstalls a failed release " +
			"and installs it anew. 'create release' has the flag")
	}
	source, hr, err := o.objects(namespace, name, o.read)
	if err != nil {
		return err
	}
	objects := []client.Object{source, hr}
	if o.asHelmChart {
		chart, err := o.helmChart(hr)
		if err != nil {
			return err
		}
		objects = []client.Object{chart}
	}
	c, err := o.connect()
	var taken client.Object
	if err == nil {
		taken, err = c.firstExisting(ctx, append(objects, hr, source)...)
	}
	switch {
	case err != nil && !o.export:
		return err
	case err != nil:
		o.note("Policies were not asked, nor whether %s exists: %s", hr.Name, err)
	case taken != nil:
		return fmt.Errorf("%s exists in namespace %s already", resourceOf(taken), namespace)
	default:
		if err := o.checkPolicies(ctx, c, source, hr); err != nil {
			return err
		}
	}
	if o.export {
		return text.Manifests(o.Out, objects...)
	}
	return o.create(ctx, c, objects...)
}

// read returns the content of a file in a flag.
func (o *creation) read(name string) ([]byte, error) {
	switch {
	case name == "-":
		return io.ReadAll(o.In)
	case strings.Contains(name, "://"):
		return nil, fmt.Errorf("%s is a URL: download the file first", name)
	}
	return os.ReadFile(name)
}

// note prints a sentence to the standard error stream.
func (o *creation) note(format string, args ...any) {
	_, _ = fmt.Fprintln(o.ErrOut, text.Clean(fmt.Sprintf(format, args...)))
}

// create creates objects in their order. All are tried by dry runs first, so that a release that is
// refused leaves no source behind.
func (o *creation) create(ctx context.Context, c *connection, objects ...client.Object) error {
	for _, object := range objects {
		if err := c.Create(ctx, object.DeepCopyObject().(client.Object), fieldOwner, client.DryRunAll); err != nil {
			return fmt.Errorf("nothing was created: %w", err)
		}
	}
	for _, object := range objects {
		// The answer of the API server may have no kind.
		name := resourceOf(object)
		if err := c.Create(ctx, object, fieldOwner); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(o.Out, name, "created"); err != nil {
			return err
		}
	}
	return nil
}

// resourceOf returns the name of an object with its kind, as kubectl prints and accepts it.
func resourceOf(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind()
	return strings.ToLower(kind.Kind) + "." + kind.Group + "/" + object.GetName()
}

// firstExisting returns the first of the objects that exists; nil if none does.
func (c *connection) firstExisting(ctx context.Context, objects ...client.Object) (client.Object, error) {
	for _, object := range objects {
		found := object.DeepCopyObject().(client.Object)
		switch err := c.Get(ctx, client.ObjectKeyFromObject(object), found); {
		case err == nil:
			return object, nil
		case !isAbsent(err):
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // none exists
}

// isAbsent reports whether an object or its CRD does not exist.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) }

// checkPolicies returns an error if a policy of the cluster refuses the chart. An export is refused
// for a range of versions only: other faults can be removed from the objects that it prints.
func (o *creation) checkPolicies(ctx context.Context, c *connection, source client.Object, hr *helmv2.HelmRelease) error {
	all, err := c.policies(ctx)
	if err != nil {
		o.note("Not all policies were asked: %s", err)
	}
	of := policy.Release{Namespace: hr.Namespace, Labels: hr.Labels}
	if policy.NeedsNamespace(all, of) {
		namespace := &corev1.Namespace{}
		if err := c.Get(ctx, client.ObjectKey{Name: hr.Namespace}, namespace); err != nil {
			of.NamespaceUnread = err.Error()
		}
		of.NamespaceLabels = namespace.Labels
	}
	if why := policy.Select(all, of, o.Now()).Unavailable; why != "" {
		o.note("Not all policies were asked: %s", why)
	}
	facts := chartFacts(source, hr)
	places, err := inputs.Places(hr)
	if err != nil {
		return err
	}
	refusal := cmp.Or(policy.Refuse(all, of, facts), policy.RefuseSources(all, of, places), policy.RefuseValues(all, of, places))
	if refusal == nil {
		return nil
	}
	if o.export {
		exact := policy.Refuse(onlyExact(all), of, facts)
		if exact == nil {
			o.note("Change the objects before you apply them: %s", &inputs.Refused{Refusal: *refusal})
			return nil
		}
		refusal = exact
	}
	return &inputs.Refused{Refusal: *refusal}
}

// policies returns the policies that may select a release in the namespace. With an error, it
// returns those that can be read.
func (c *connection) policies(ctx context.Context) (all []policy.Policy, unread error) {
	cluster, namespaced := &v1alpha1.ClusterReleasePolicyList{}, &v1alpha1.ReleasePolicyList{}
	for _, err := range []error{c.List(ctx, cluster), c.List(ctx, namespaced, client.InNamespace(c.namespace))} {
		if err != nil && !isAbsent(err) {
			unread = err
		}
	}
	for i := range cluster.Items {
		all = append(all, policy.OfCluster(&cluster.Items[i]))
	}
	for i := range namespaced.Items {
		all = append(all, policy.Of(&namespaced.Items[i]))
	}
	return all, unread
}

// onlyExact returns policies without the demands on charts except for exact versions.
func onlyExact(all []policy.Policy) []policy.Policy {
	exact := slices.Clone(all)
	for i := range exact {
		if charts := exact[i].Spec.Charts; charts != nil {
			exact[i].Spec.Charts = &v1alpha1.ChartPolicy{ExactVersions: charts.ExactVersions}
		}
	}
	return exact
}

// chartFacts returns the facts about a chart that policies are compared with.
func chartFacts(source client.Object, hr *helmv2.HelmRelease) policy.Chart {
	repository, ok := source.(*sourcev1.HelmRepository)
	if !ok {
		facts, _ := inputs.Facts(hr, source)
		return facts
	}
	facts, _ := inputs.Facts(hr, inputs.TemplateSource(hr))
	return inputs.InRepository(facts, repository)
}

// completeNamespaces completes names of namespaces.
func (s *Session) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := s.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, key := range c.names(cmd.Context(), corev1.SchemeGroupVersion.WithKind("Namespace")) {
		names = append(names, key.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
