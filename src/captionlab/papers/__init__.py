"""Papers as plug-ins (captionlab.reporting.paper): their rules, tables, figures, measurements and claims."""
